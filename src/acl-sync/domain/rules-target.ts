/** What the engine reads now. */
export interface LiveRules {
  /** Null: there is no text yet, so an engine that reads here has no rules. */
  text: string | null;
  /** The target's own mark of this state, which `publish` compares; opaque to everybody else. */
  revision: string;
}

/** A publication as a target writes it. */
export interface NextRules {
  text: string;
  /** Identifies the rules; the same that the engine answers to (access-model.md section 2). */
  hash: string;
  /** The publication's version, counted by Grantline. */
  generation: number;
  publishedAt: Date;
}

/**
 * Where the engine reads its rules. Publishing is conditional: a target that changed since `live` was read refuses.
 * The text that was live stays beside the new one as `rules.json.bak`.
 */
export abstract class RulesTarget {
  /** For people: `configmap engine/trino-access-control`. */
  abstract readonly name: string;

  /** How many bytes the new and the former text may have together; null: no limit. */
  abstract readonly limitBytes: number | null;

  /**
   * @param signal ends the call when the run's time for the target is over
   * @throws RulesTargetUnavailable
   */
  abstract read(signal: AbortSignal): Promise<LiveRules>;

  /**
   * @throws RulesTargetMoved when somebody else wrote meanwhile; nothing is written then
   * @throws RulesTargetUnavailable
   */
  abstract publish(next: NextRules, live: LiveRules, signal: AbortSignal): Promise<void>;
}

/** Somebody else wrote between `read` and `publish`. Read again and decide again. */
export class RulesTargetMoved extends Error {
  constructor() {
    super('the rules target changed since it was read');
    this.name = 'RulesTargetMoved';
  }
}

/** Why a target could not be read or written. */
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

/** The target defeats the run. The message is safe to show and to log: it never quotes what the target said or holds. */
export class RulesTargetUnavailable extends Error {
  constructor(
    readonly reason: TargetFailure,
    message: string,
    /** Finds the request in the API server's audit log. */
    readonly auditId: string | null = null,
  ) {
    super(message);
    this.name = 'RulesTargetUnavailable';
  }
}
