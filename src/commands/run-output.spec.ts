import { statusForm, type SyncStatus } from '../acl-sync/domain/run-text.js';
import { opaStatus } from '../acl-sync/domain/opa-status.js';
import { statusLines } from './run-output.js';

const REVISION = 'v7-0123456789ab';
const at = new Date('2026-11-25T12:00:00Z');
const status = (opa: SyncStatus['opa']): SyncStatus => ({
  ...{ lastRun: null, lastSuccessAt: null, refusedSince: null, failedSince: null, live: null, databaseBehind: null },
  ...{ nextRunAt: null, published: null, restore: null, guarantees: [], opa },
  targets: [{ key: 'file', name: 'file rules.json' }],
  engineTarget: 'file',
});

describe('the lines of acl status', () => {
  const instances = [
    { instance: 'trino-0', revision: REVISION, errors: ['no signature'], seenAt: at, requestedAt: null },
    { instance: 'trino-1', revision: null, errors: [], seenAt: at, requestedAt: null },
  ];
  const linesOf = (canary: { answer: string | null; at: Date } | null) =>
    statusLines(statusForm(status(opaStatus({ instances, canary }, REVISION, 300, at)))).slice(-5);

  it('have each instance of OPA, and the canary', () => {
    expect(linesOf({ answer: REVISION, at })).toEqual([
      'file                nothing',
      `opa                 ${REVISION}  live not known  trino-0: no signature`,
      `trino-0             ${REVISION}  seen 2026-11-25T12:00:00.000Z  no signature`,
      'trino-1             no bundle  seen 2026-11-25T12:00:00.000Z',
      `canary              ${REVISION}, 2026-11-25T12:00:00.000Z`,
    ]);
    expect(linesOf({ answer: null, at }).at(-1)).toBe('canary              no answer, 2026-11-25T12:00:00.000Z');
    expect(linesOf(null).at(-1)).toBe('canary              no engine was asked: live by reports alone');
  });

  it('have none of it without OPA', () => {
    expect(statusLines(statusForm(status(null))).at(-1)).toBe('waits for approval  -');
  });
});
