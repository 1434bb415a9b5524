import type { Timers } from '../kernel/clock.js';
import { failureOf, type Publication } from './domain/publication.js';
import {
  type LiveRules,
  type NextRules,
  type RulesTarget,
  RulesTargetMoved,
  type RulesTargets,
  TARGET_MS,
} from './domain/rules-target.js';
import { type Lease, LeaseLost } from './domain/run-ports.js';
import { hashOfText, revisionOf, type TargetState } from './domain/target-state.js';

/** How long a run waits for all targets before it goes on with those that have answered. */
const PROMPT_ANSWER_MS = 1_000;
/** Time limit of a target that failed in the previous run, if there are other targets. */
const FAILED_TARGET_MS = 5_000;
/** The most attempts of a run to write a target that another writer keeps changing. */
const MAX_WRITES = 10;

/** The files and ConfigMaps of one run. One that fails or answers late delays neither the others nor OPA, which is served from the history. */
export class TargetSessions {
  private readonly sessions: readonly TargetSession[];
  /** Whether there is only one target, for which a run waits. */
  private readonly isAlone: boolean;
  /** Whether a reading waits for all targets. A target whose state was never recorded would be taken for edited if the others came first. */
  private waitsForAll: boolean;
  /** The targets that answered the last reading in time. */
  private timelySessions: readonly TargetSession[] = [];

  constructor(
    private readonly targets: RulesTargets,
    private readonly lastTargetStates: readonly TargetState[],
    private readonly lease: Lease,
    private readonly timers: Timers,
  ) {
    this.isAlone = targets.all.length === 1 && !targets.isForOpa;
    this.waitsForAll = lastTargetStates.length === 0;
    this.sessions = targets.all.map((target) => {
      const hasFailed = lastTargetStates.some((state) => state.target === target.key && state.failure !== null);
      return new TargetSession(target, lease, hasFailed && !this.isAlone ? FAILED_TARGET_MS : TARGET_MS);
    });
  }

  /** Restarts the time limit of each target. Called after a compilation, which has a time limit of its own. */
  restartTimeLimits(): void {
    for (const session of this.sessions) session.restartTimeLimit();
  }

  /**
   * Reads the targets.
   * @param hasVersions whether a version exists. The first one is compared with the rules that it replaces, so OPA gets it only with them
   * @returns the targets that answered in time; with OPA perhaps none
   * @throws the first target's error if all targets failed and OPA cannot go ahead alone; LeaseLost
   */
  async read(hasVersions: boolean): Promise<readonly TargetSession[]> {
    const isOpaAhead = this.targets.isForOpa && hasVersions;
    const readings = Promise.all(this.sessions.filter(({ isReading }) => !isReading).map((session) => session.begin()));
    await (this.isAlone || this.waitsForAll ? readings : this.timers.waitAtMost(PROMPT_ANSWER_MS, readings));
    while (!isOpaAhead && this.answeredSessions().length === 0 && this.lateSessions().length > 0)
      await Promise.race(this.lateSessions().map(({ pendingRead: reading }) => reading));
    if (!isOpaAhead) this.throwIfNoneLeft();
    if (this.answeredSessions().length === 0) await this.lease.confirm();
    this.timelySessions = this.answeredSessions();
    return this.timelySessions;
  }

  /** Waits for the targets that did not answer in time, also in later readings. @returns whether any of them has answered now */
  async waitForLateTargets(): Promise<boolean> {
    this.waitsForAll = true;
    const lateSessions = this.sessions.filter(
      (session) => session.failure === null && !this.timelySessions.includes(session),
    );
    await Promise.all(lateSessions.map(({ pendingRead: reading }) => reading));
    return lateSessions.some(({ failure }) => failure === null);
  }

  /**
   * Writes the rules to these targets at the same time.
   * @returns false: the live rules of a target have changed since they were read
   * @throws the first target's error if all targets failed and OPA is none; LeaseLost
   */
  async replace(sessions: readonly TargetSession[], next: NextRules): Promise<boolean> {
    const areWritten = await Promise.all(sessions.map((session) => session.replace(next)));
    if (!this.targets.isForOpa) this.throwIfNoneLeft();
    return !areWritten.includes(false);
  }

  /** The first failure of a target; null: no target failed. */
  firstFailure(): Error | null {
    return this.sessions.find(({ failure }) => failure !== null)?.failure ?? null;
  }

  /** The targets' states after the run. @param newestVersion the newest published version; null if no version is published */
  statesAfter(newestVersion: Publication | null): TargetState[] {
    return this.sessions.map(({ target, failure, rules }) => {
      const formerHeldVersion = this.lastTargetStates.find((state) => state.target === target.key)?.held ?? null;
      const text = newestVersion?.text ?? null;
      const holdsNewestText = failure === null && newestVersion !== null && text !== null && rules.text === text;
      const heldVersion = holdsNewestText
        ? { revision: revisionOf(newestVersion), textHash: hashOfText(text) }
        : formerHeldVersion;
      const { reason, message } = failureOf(failure);
      return { target: target.key, held: heldVersion, failure: failure && { reason, message } };
    });
  }

  private throwIfNoneLeft(): void {
    const [first = null] = this.sessions.map(({ failure }) => failure);
    if (first !== null && this.sessions.every(({ failure }) => failure !== null)) throw first;
  }

  private answeredSessions(): TargetSession[] {
    return this.sessions.filter(({ isReading, failure }) => !isReading && failure === null);
  }

  private lateSessions(): TargetSession[] {
    return this.sessions.filter(({ isReading }) => isReading);
  }
}

/** One run's access to a target. Time and number of writes are limited, and the run must hold the lock. */
export class TargetSession {
  rules: LiveRules = { text: null, revision: '' };
  /** The target's failure in this run, after which it is not used again; null: it has not failed. */
  failure: Error | null = null;
  pendingRead: Promise<void> = Promise.resolve();
  isReading = false;
  private signal: AbortSignal;
  private writeCount = 0;

  constructor(
    readonly target: RulesTarget,
    private readonly lease: Lease,
    private readonly limitMs: number,
  ) {
    this.signal = AbortSignal.timeout(limitMs);
  }

  restartTimeLimit(): void {
    if (!this.isReading) this.signal = AbortSignal.timeout(this.limitMs);
  }

  /** Begins to read the target. Never rejects unless the lease is lost. */
  begin(): Promise<void> {
    this.isReading = true;
    this.pendingRead = this.attempt(() => this.read()).finally(() => {
      this.isReading = false;
    });
    return this.pendingRead;
  }

  /**
   * Writes the rules. Repeats the write if another writer changed only other parts of the target, such as labels or other keys.
   * @returns false: the live rules have changed since they were read
   * @throws LeaseLost
   */
  async replace(next: NextRules): Promise<boolean> {
    const plannedText = this.rules.text;
    let isWritten = true;
    await this.attempt(async () => {
      while (this.rules.text === plannedText) {
        this.writeCount += 1;
        try {
          await this.target.publish(next, this.rules, this.signal);
          this.rules = { ...this.rules, text: next.text };
          return;
        } catch (error) {
          if (!(error instanceof RulesTargetMoved) || this.writeCount === MAX_WRITES) throw error;
        }
        await this.read();
      }
      isWritten = false;
    });
    return isWritten;
  }

  private async read(): Promise<void> {
    this.rules = await this.target.read(this.signal);
    await this.lease.confirm();
  }

  private async attempt(work: () => Promise<void>): Promise<void> {
    if (this.failure !== null) return;
    try {
      await work();
    } catch (error) {
      if (error instanceof LeaseLost || !(error instanceof Error)) throw error;
      this.failure = error;
    }
  }
}
