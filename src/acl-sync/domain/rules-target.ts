import { NamedError } from '../../kernel/errors.js';

/** What the engine reads now. */
export interface LiveRules {
  /** Null: there is no text, so the engine has no rules. */
  text: string | null;
  /** What the target holds, where it is not the text in UTF-8: an edit by hand, which the backup must not change. */
  bytes?: Buffer;
  /** The last publication by the target's own word: an edit by hand may have replaced its text. */
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
 * The place that the engine reads its rules from. A write is conditional: refused if the target changed since `live` was read.
 * The text that was live stays beside the new one as `rules.json.bak`, unless it is the same: then its version alone is written.
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
   * Checks what a publication needs, and writes nothing.
   * @throws RulesTargetUnavailable when no right is missing, and the target cannot be used nevertheless
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
/** Versions go up to 2^31 - 1: some are left above whatever an edit by hand names. */
const HIGHEST = 2_000_000_000;

/** Which version a target holds, in its own words: annotations of the ConfigMap, or a file beside the rules. */
export function versionAnnotations({ hash, generation, publishedAt }: NextRules): Record<string, string> {
  return {
    [HASH]: hash,
    [GENERATION]: String(generation),
    'grantline.io/published-at': publishedAt.toISOString(),
  };
}

/** Anyone who may edit the target may have written them, so anything that is no version is ignored. */
export function writtenOf(annotations: Readonly<Record<string, unknown>>): Pick<LiveRules, 'written'> {
  const [generation, hash] = [annotations[GENERATION], annotations[HASH]];
  if (typeof generation !== 'string' || !/^[1-9][0-9]{0,9}$/.test(generation)) return {};
  if (typeof hash !== 'string' || !/^[0-9a-f]{1,64}$/.test(hash)) return {};
  return Number(generation) > HIGHEST ? {} : { written: { generation: Number(generation), hash } };
}
