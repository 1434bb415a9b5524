import type { Clock } from '../kernel/clock.js';
import { foundDraft, foundVersion } from './domain/found-version.js';
import type { PublicationHistory } from './domain/publication-history.js';
import type { Publication, Trigger } from './domain/publication.js';
import type { LiveRules, RulesTarget } from './domain/rules-target.js';
import type { Lease } from './domain/sync-lock.js';

/** What a run decides on: the target, and the history brought up to it. */
export interface Situation {
  live: LiveRules;
  latest: Publication | null;
  now: Date;
}

/** The ports that a situation is read from. */
export interface SituationPorts {
  target: RulesTarget;
  history: PublicationHistory;
  clock: Clock;
}

/**
 * Reads the target, and records in the history what happened there: the end of a run that died, or a version that only the
 * target has.
 * @throws RulesTargetUnavailable, LeaseLost
 */
export async function readSituation(
  { target, history, clock }: SituationPorts,
  trigger: Trigger,
  lease: Lease,
  signal: AbortSignal,
): Promise<Situation> {
  const live = await target.read(signal);
  await lease.confirm();
  const now = clock.now();
  await history.settle(live, now);
  const latest = await history.latest();
  const found = foundVersion(live, latest, await history.newest());
  if (found === null) return { live, latest, now };
  const version = await history.begin(foundDraft(found, await history.baseline(), latest, trigger, now));
  return { live, latest: await history.confirm(version, now), now };
}
