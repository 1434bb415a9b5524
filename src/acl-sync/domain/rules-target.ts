import { NamedError } from '../../kernel/errors.js';

/** The rules that the engine reads now. */
export interface LiveRules {
  /** Null: there is no text, so the engine has no rules. */
  text: string | null;
  /** The target's content if it is not valid UTF-8. It is then an edit by hand, which the backup must keep unchanged. */
  bytes?: Buffer;
  /** The last publication that the target names. An edit by hand may have replaced its text. */
  written?: Pick<NextRules, 'generation' | 'hash'>;
  /** Opaque version of the target's state, which `publish` compares. */
  revision: string;
}

export interface NextRules {
  text: string;
  /** The marker in the rules that identifies them on the engine. */
  hash: string;
  /** The publication's version, counted by Grantline. */
  generation: number;
  publishedAt: Date;
}

/** Whether this process may read and publish. If not: the rights that are missing, and its name at the target (null: unknown). */
export type TargetAccess = { kind: 'granted' } | { kind: 'denied'; missing: string[]; identity: string | null };

/** Milliseconds that one caller may spend on reading and writing the target. */
export const TARGET_MS = 30_000;

/**
 * The place from which the engine reads its rules. A write is refused if the target changed since `live` was read. The former text stays
 * beside the new one as `rules.json.bak`. If both are the same text, only the version is written.
 */
export abstract class RulesTarget {
  /** For display: `configmap engine/trino-access-control`. */
  abstract readonly name: string;

  /** The most bytes of the new and the previous text together; null: no limit. */
  abstract readonly limitBytes: number | null;

  /**
   * @param signal aborts when the run's time budget for the target is spent
   * @throws RulesTargetUnavailable
   */
  abstract read(signal: AbortSignal): Promise<LiveRules>;

  /**
   * Checks the rights for a publication without writing.
   * @throws RulesTargetUnavailable if no right is missing but the target cannot be used
   */
  abstract checkAccess(signal: AbortSignal): Promise<TargetAccess>;

  /**
   * @throws RulesTargetMoved when another writer changed the target meanwhile; nothing is written
   * @throws RulesTargetUnavailable
   */
  abstract publish(next: NextRules, live: LiveRules, signal: AbortSignal): Promise<void>;
}

/** Another writer changed the target between `read` and `publish`. Read and plan again. */
export class RulesTargetMoved extends NamedError {
  constructor() {
    super('the rules target changed since it was read');
  }
}

export type TargetFailure =
  | 'unreachable'
  | 'timeout'
  | 'unauthorized'
  | 'forbidden'
  | 'missing'
  | 'immutable'
  | 'too-large'
  | 'rejected'
  | 'misconfigured';

/** The target cannot be read or written. The message is safe to log: it never quotes the target's answer or content. */
export class RulesTargetUnavailable extends NamedError {
  constructor(
    readonly reason: TargetFailure,
    message: string,
    /** Finds the request in the API server's audit log. */
    readonly auditId: string | null = null,
  ) {
    super(message);
  }
}

const HASH = 'grantline.io/rules-hash';
const GENERATION = 'grantline.io/generation';
/** The highest accepted version. Below the limit of 2^31 - 1, so that versions remain above one that an edit by hand names. */
const HIGHEST = 2_000_000_000;

/** The annotations by which a target names its version, stored in the ConfigMap or in a file beside the rules. */
export function versionAnnotations({ hash, generation, publishedAt }: NextRules): Record<string, string> {
  return {
    [HASH]: hash,
    [GENERATION]: String(generation),
    'grantline.io/published-at': publishedAt.toISOString(),
  };
}

/** The version in annotations. Invalid ones are ignored, because anybody who may edit the target may have written them. */
export function writtenOf(annotations: Readonly<Record<string, unknown>>): Pick<LiveRules, 'written'> {
  const [generation, hash] = [annotations[GENERATION], annotations[HASH]];
  if (typeof generation !== 'string' || !/^[1-9][0-9]{0,9}$/.test(generation)) return {};
  if (typeof hash !== 'string' || !/^[0-9a-f]{1,64}$/.test(hash)) return {};
  return Number(generation) > HIGHEST ? {} : { written: { generation: Number(generation), hash } };
}
