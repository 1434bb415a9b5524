import { at, aVersion } from '../../../test/support/snapshots/a-version.js';
import { type SyncStatus, statusForm } from './status-form.js';

const unused: SyncStatus = {
  last: null,
  lastSuccessAt: null,
  refusedSince: null,
  failedSince: null,
  live: null,
  databaseBehind: null,
  nextRunAt: null,
  published: null,
  restore: null,
  target: 'file rules.json',
};

describe('the status in the names of the API', () => {
  it('has every name before the first run', () => {
    expect(statusForm(unused)).toEqual({
      last_run_at: null,
      last_success_at: null,
      last_outcome: null,
      last_reasons: [],
      next_run_at: null,
      published: null,
      live: null,
      drift: null,
      restored_until: null,
      waiting_for_approval: null,
      refused_since: null,
      database_behind: null,
      target: 'file rules.json',
    });
  });

  it('tells each moment from the others', () => {
    const reasons = [{ code: 'unexplained-change', severity: 'error', message: 'much changes' } as const];
    const status: SyncStatus = {
      last: {
        at: at(1),
        trigger: 'schedule',
        outcome: 'refused',
        triggeredBy: null,
        isRestore: false,
        reasons,
        drift: { textHash: 'edited', foundAt: at(2), overwritten: false },
        waiting: { hash: 'next', since: at(3), reasons },
      },
      lastSuccessAt: at(4),
      refusedSince: at(6),
      failedSince: at(7),
      live: { hash: 'live', confirmedAt: at(8) },
      databaseBehind: { version: 9, hash: 'f00', foundAt: at(9) },
      nextRunAt: at(10),
      published: aVersion(7, { trigger: 'cli' }),
      restore: { version: 3, until: at(11), reason: 'the new one is slow' },
      target: 'file rules.json',
    };
    const moment = (minute: number) => at(minute).toISOString();

    expect(statusForm(status)).toEqual({
      last_run_at: moment(1),
      last_success_at: moment(4),
      last_outcome: 'refused',
      last_reasons: reasons,
      next_run_at: moment(10),
      published: { version: 7, hash: 'hash 7', at: moment(5), rules: 3, bytes: 6, trigger: 'cli' },
      live: { hash: 'live', confirmed_at: moment(8) },
      drift: { found_at: moment(2), text_hash: 'edited', overwritten: false },
      restored_until: moment(11),
      waiting_for_approval: { hash: 'next', since: moment(3), reasons },
      refused_since: moment(6),
      database_behind: { version: 9, hash: 'f00', found_at: moment(9) },
      target: 'file rules.json',
    });
  });
});
