import { NamedError } from '../../kernel/errors.js';
import type { Artefact } from './version-access.js';

/** The rules that the engine reads now. */
export interface LiveRules {
  /** The text of the rules; null: the target has no text, so the engine has no rules. */
  text: string | null;
  /** The target's content if it is not valid UTF-8. Such content is an edit by hand, which the backup must keep unchanged. */
  bytes?: Buffer;
  /** The version that the target's annotations name. After an edit by hand, `text` is not the text of this version. */
  namedVersion?: Pick<NextRules, 'generation' | 'hash'>;
  /** Opaque version of the target's state. `publish` writes only if the target still has it. */
  revision: string;
}

export interface NextRules {
  text: string;
  /** Hash of the rules. `text` contains a session property named after the hash, which shows whether the engine uses the rules. */
  hash: string;
  /** The publication's version, counted by Grantline. */
  generation: number;
  publishedAt: Date;
}

/** Whether this process may read and publish. `missing`: rights that it lacks. `identity`: its name at the target; null: unknown. */
export type TargetAccess = { kind: 'granted' } | { kind: 'denied'; missingRights: string[]; identity: string | null };

/** Milliseconds that one caller may spend on reading and writing the target. */
export const TARGET_MS = 30_000;

/**
 * The place from which the engine reads its rules. A write is refused if the target changed since it was read. The former text stays
 * beside the new one as `rules.json.bak`. If the new text equals the live one, only the version is written.
 */
export abstract class RulesTarget {
  /** For display: `configmap engine/trino-access-control`. */
  abstract readonly name: string;

  /** Identifies the target in status and metrics: `file`, `configmap:engine/trino-access-control`. */
  abstract readonly key: string;

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

/** The targets that get the same rules, in the order of the settings. The list is empty if OPA is the only target. */
export class RulesTargets {
  readonly artefacts: readonly Artefact[];

  /**
   * @param engineTargetKey the key of the target that the configured engine reads. Default: the first target, or `opa` without targets
   * @param isProbed whether the engine's answers tell which version is in use: there is one target, and the configured engine reads it
   */
  constructor(
    readonly all: readonly RulesTarget[],
    readonly isForOpa = false,
    readonly engineTargetKey = all[0]?.key ?? 'opa',
    readonly isProbed = false,
  ) {
    this.artefacts = [...(all.length > 0 ? (['rules'] as const) : []), ...(isForOpa ? (['data'] as const) : [])];
  }

  /** The smallest limit of a target in bytes; null: no target has a limit. */
  get limitBytes(): number | null {
    return this.all.reduce<number | null>(
      (smallest, { limitBytes }) => (limitBytes === null ? smallest : Math.min(limitBytes, smallest ?? limitBytes)),
      null,
    );
  }
}

/** Thrown if another writer changed the target between `read` and `publish`. The caller must read and plan again. */
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

/** Thrown if the target cannot be read or written. Its message is safe to log: it never quotes the target's answer or content. */
export class RulesTargetUnavailable extends NamedError {
  constructor(
    readonly reason: TargetFailure,
    message: string,
    /** Id of the request in the API server's audit log. */
    readonly auditId: string | null = null,
  ) {
    super(message);
  }
}

const HASH_ANNOTATION = 'grantline.io/rules-hash';
const GENERATION_ANNOTATION = 'grantline.io/generation';
/** The highest accepted version. Even if an edit by hand names this version, higher ones up to 2^31 - 1 remain for later publications. */
const MAX_GENERATION = 2_000_000_000;

/** The annotations by which a target names its version, stored in the ConfigMap or in a file beside the rules. */
export function versionAnnotations({ hash, generation, publishedAt }: NextRules): Record<string, string> {
  return {
    [HASH_ANNOTATION]: hash,
    [GENERATION_ANNOTATION]: String(generation),
    'grantline.io/published-at': publishedAt.toISOString(),
  };
}

/** The version that annotations name. Invalid annotations are ignored: anybody who may edit the target can write them. */
export function namedVersionOf(annotations: Readonly<Record<string, unknown>>): Pick<LiveRules, 'namedVersion'> {
  const [generation, hash] = [annotations[GENERATION_ANNOTATION], annotations[HASH_ANNOTATION]];
  if (typeof generation !== 'string' || !/^[1-9][0-9]{0,9}$/.test(generation)) return {};
  if (typeof hash !== 'string' || !/^[0-9a-f]{1,64}$/.test(hash)) return {};
  return Number(generation) > MAX_GENERATION ? {} : { namedVersion: { generation: Number(generation), hash } };
}
