/** The state of one instance of OPA, as it last reported. */
export interface OpaInstance {
  /** The instance's label `instance`, or its id if it has no such label. */
  instance: string;
  /** The revision of the bundle by which the instance decides; null: it has no bundle. */
  revision: string | null;
  errors: readonly string[];
  seenAt: Date;
  /** Time of the instance's last answered request for the bundle; null: never. */
  requestedAt: Date | null;
}

/** The engine's last answer to the statement that reads OPA's revision. `answer` is null if the engine did not answer. */
export interface CanaryAnswer {
  answer: string | null;
  at: Date;
}

export interface OpaReports {
  instances: readonly OpaInstance[];
  /** The last canary answer; null: no engine is asked. */
  canary: CanaryAnswer | null;
}

/** The state of an instance. `behind`: it has another revision. `gone`: it has not reported for five minutes, so its revision is ignored. */
export type InstanceState = 'live' | 'behind' | 'error' | 'gone';

export interface OpaStatus extends OpaReports {
  /** The newest revision of the bundle; null: nothing was published. */
  publishedRevision: string | null;
  /** The revision that the canary and all instances report; null: the reported revisions differ, or none is known. */
  liveRevision: string | null;
  instances: readonly (OpaInstance & { state: InstanceState })[];
}

/** The greatest age of a report or answer that still counts. */
const MAX_REPORT_AGE_MS = 5 * 60_000;

const REVISION = /^v(\d+)-[0-9a-f]{12}$/;

/**
 * Judges the reports of all instances against the published revision.
 * @param maxAgeSeconds how long an instance may be without an answer about its bundle
 */
export function opaStatus(
  reports: OpaReports,
  expectedRevision: string | null,
  maxAgeSeconds: number,
  now: Date,
): OpaStatus {
  const isRecent = (at: Date): boolean => now.getTime() - at.getTime() <= MAX_REPORT_AGE_MS;
  const instances = reports.instances.map((instance) => {
    const ageSeconds = instance.requestedAt && Math.round((now.getTime() - instance.requestedAt.getTime()) / 1000);
    const isStale = ageSeconds !== null && ageSeconds > maxAgeSeconds;
    const errors = isStale ? [...instance.errors, `no answer about the bundle for ${ageSeconds} s`] : instance.errors;
    const revisionState = instance.revision === expectedRevision ? 'live' : 'behind';
    const state: InstanceState = !isRecent(instance.seenAt) ? 'gone' : errors.length > 0 ? 'error' : revisionState;
    return { ...instance, errors, state };
  });
  const canary = reports.canary !== null && isRecent(reports.canary.at) ? reports.canary : null;
  const seenRevisions = instances.filter(({ state }) => state !== 'gone').map(({ revision }) => revision);
  const [revision = null, ...others] = new Set([...seenRevisions, ...(canary === null ? [] : [canary.answer])]);
  const liveRevision = others.length === 0 && REVISION.test(revision ?? '') ? revision : null;
  return { publishedRevision: expectedRevision, liveRevision, instances, canary };
}

/** The first fault that an instance reports or the canary found; null: none. */
export function opaFault({ instances, canary }: OpaStatus): string | null {
  const failedInstance = instances.find(({ state }) => state === 'error');
  if (failedInstance !== undefined) return `${failedInstance.instance}: ${failedInstance.errors[0] ?? ''}`;
  if (canary === null || REVISION.test(canary.answer ?? '')) return null;
  return canary.answer === null ? 'the engine did not answer the canary' : `the engine answers: ${canary.answer}`;
}

/** The time after a publication during which the engine may still answer with an older version. */
export const LOADING_MS = 30_000;

export type CanaryVerdict = 'right' | 'loading' | 'wrong';

/**
 * Judges an answer to the canary statement: only `newestRevision` is right. Any other one with an equal or a higher number is of another
 * database. @param dueVersion the oldest version that may still answer
 */
export function judgeCanary(answer: string | null, newestRevision: string, dueVersion: number): CanaryVerdict {
  if (answer === newestRevision) return 'right';
  const version = versionOf(answer);
  return version >= dueVersion && version < versionOf(newestRevision) ? 'loading' : 'wrong';
}

function versionOf(revision: string | null): number {
  return Number(REVISION.exec(revision ?? '')?.[1] ?? -1);
}
