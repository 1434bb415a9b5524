import type { Publication } from '../../../src/acl-sync/domain/publication.js';

export const at = (minute: number) => new Date(Date.UTC(2026, 10, 20, 12, minute));

/** A publication of a snapshot read at minute 0, in force since minute 5. */
export function aVersion(version: number, given: Partial<Publication> = {}): Publication {
  return {
    version,
    text: `text ${version}`,
    hash: `hash ${version}`,
    rules: 3,
    bytes: 6,
    diff: { added: ['tables {"user":"ana"}'], removed: [] },
    access: null,
    isWithdrawal: false,
    isFound: false,
    firstStepOf: null,
    restored: null,
    edit: null,
    checks: [],
    trigger: 'schedule',
    triggeredBy: null,
    snapshotHash: 'digest',
    compiler: 'a build',
    snapshotAt: at(0),
    changedAt: null,
    publishedAt: at(5),
    liveAt: null,
    brokenAt: null,
    ...given,
  };
}
