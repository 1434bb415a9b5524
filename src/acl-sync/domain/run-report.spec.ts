import { at, aVersion } from '../../../test/support/snapshots/a-version.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import type { UnreportedPublication } from './publication-history.js';
import type { Publication, Run, RunOutcome } from './publication.js';
import { type EndedRun, unreportedEdits, Report, reportRestores, runReport, runRow } from './run-report.js';

const boss = { actor: { id: 7, username: 'boss' }, origin: null };

const unreported = (publication: Publication, given: Partial<UnreportedPublication> = {}): UnreportedPublication => ({
  publication,
  isWritten: true,
  formerRestore: null,
  ...given,
});
const applied = (publication: Publication): RunOutcome => ({ kind: 'applied', publication, reasons: [] });
const finding = (code: string): Finding => ({ code, severity: 'error', message: `an example of ${code}` });
const refused = (awaits: string | null, ...codes: string[]): RunOutcome => ({
  kind: 'refused',
  reasons: codes.map(finding),
  awaits,
  publication: null,
});
const failed: RunOutcome = {
  kind: 'failed',
  failure: { reason: 'internal', message: 'the log has it', auditId: null, cause: new Error('a secret') },
  outcomeElsewhere: null,
};
const ended = (outcome: RunOutcome, given: Partial<EndedRun> = {}): EndedRun => ({
  trigger: 'schedule',
  by: boss,
  outcome,
  edit: null,
  judgement: null,
  targets: [],
  startedAt: at(4),
  ...given,
});

const restoreReport = (...[changes, by]: [Parameters<typeof reportRestores>[1], typeof boss]): Report => {
  const report = new Report();
  reportRestores(report, changes, by);
  return report;
};

const events = ({ events: all }: ReturnType<typeof runReport>) => all.map(({ event }) => event);
const markers = ({ lines }: ReturnType<typeof runReport>) => lines.map(({ marker }) => marker);

describe('the report of a run', () => {
  it('has the version that it published, by whom it was ordered', () => {
    const own = aVersion(2, {
      access: {
        gained: [],
        lost: [],
        gainedInAll: 0,
        lostInAll: 0,
        peopleGaining: 0,
        peopleLosing: 0,
        changedPairs: 0,
        allPairs: 1,
      },
    });
    const report = runReport(ended(applied(own)), [unreported(own)], null);
    expect(report.events).toMatchObject([
      { event: 'publication_applied', actor: boss.actor, subject: { type: 'publication', id: '2' } },
    ]);
    expect(report.lines).toMatchObject([
      { level: 'info', marker: 'TRINO_ACL_SYNC_APPLIED', fields: { version: 2, added: 1, removed: 0 } },
    ]);
  });

  it('has the version of a run that died before, with its edit, by the account that ordered that', () => {
    const died = aVersion(2, { triggeredBy: { id: 3, name: 'ana' }, edit: { textHash: 'of an edit' } });
    const own = aVersion(3);
    const run = ended(applied(own), { edit: { textHash: 'of another' } });
    const report = runReport(run, [unreported(died), unreported(own)], null);
    expect(report.events.map(({ event, actor }) => [event, actor?.username])).toEqual([
      ['drift_found', 'ana'],
      ['drift_found', 'boss'],
      ['publication_applied', 'ana'],
      ['publication_applied', 'boss'],
    ]);
  });

  it.each<[string, Partial<Publication>, Partial<UnreportedPublication>, string[], string[]]>([
    [
      'an unexplained change',
      { checks: [finding('unexplained-change')] },
      {},
      ['unexplained_change', 'publication_applied'],
      ['TRINO_ACL_UNEXPLAINED_CHANGE', 'TRINO_ACL_SYNC_APPLIED'],
    ],
    ['a found version', { isFound: true }, { isWritten: false }, ['database_behind'], ['TRINO_ACL_DATABASE_BEHIND']],
    ['a text that was live already', { checks: [finding('approved-change')] }, { isWritten: false }, [], []],
    [
      'a restore in place of another',
      { restored: { version: 1, until: at(59), reason: 'a test', ended: null } },
      { formerRestore: { version: 2, until: at(59), reason: 'another', ended: null, publication: 6 } },
      ['restore_ended', 'publication_restored', 'publication_applied'],
      ['TRINO_ACL_RESTORE_ENDED', 'TRINO_ACL_RESTORED', 'TRINO_ACL_SYNC_APPLIED'],
    ],
  ])('has what follows from the version: %s', (_, version, how, expectedEvents, expectedMarkers) => {
    const own = aVersion(7, version);
    const report = runReport(ended(applied(own)), [unreported(own, how)], null);
    expect([events(report), markers(report)]).toEqual([expectedEvents, expectedMarkers]);
  });

  it('has equal refusals in a row once in the audit trail, and each in the log', () => {
    const run = ended(refused(null, 'proof-difference'));
    const last = runRow(run, null);
    expect(events(runReport(run, [], null))).toEqual(['publication_refused']);
    expect(events(runReport(run, [], last))).toEqual([]);
    expect(markers(runReport(run, [], last))).toEqual(['TRINO_ACL_SYNC_REFUSED']);
    expect(events(runReport(ended(refused(null, 'too-large')), [], last))).toEqual(['publication_refused']);
  });

  it('has ten reasons, and how many there are', () => {
    const codes = Array.from({ length: 12 }, (_, i) => `code-${i}`);
    const {
      events: [event],
      lines: [line],
    } = runReport(ended(refused(null, ...codes)), [], null);
    expect(event?.details['reasons']).toHaveLength(10);
    expect(line?.fields).toMatchObject({ reasons_in_all: 12 });
  });

  it('has an unexpected error in the log alone', () => {
    const { events: recorded, lines } = runReport(ended(failed), [], null);
    expect(recorded).toMatchObject([{ event: 'publication_failed', details: { reason: 'internal' } }]);
    expect(JSON.stringify(recorded)).not.toContain('secret');
    expect(lines).toMatchObject([{ level: 'error', fields: { err: { message: 'a secret' } } }]);
  });

  it('has no SQL in the log', () => {
    const what = "SELECT from sales.eu.orders for which ward = 'oncology'";
    const changes = [{ what, people: ['ana'], others: 0 }];
    const access = {
      gained: changes,
      lost: changes,
      gainedInAll: 1,
      lostInAll: 1,
      peopleGaining: 1,
      peopleLosing: 1,
      changedPairs: 1,
      allPairs: 1,
    };
    const own = aVersion(2, { access, checks: [{ ...finding('unexplained-change'), message: what }] });
    const { lines, events: recorded } = runReport(ended(applied(own)), [unreported(own)], null);
    expect(JSON.stringify(recorded)).toContain('oncology');
    expect(JSON.stringify(lines)).toContain('sales.eu.orders (its SQL is not logged)');
    expect(JSON.stringify(lines)).not.toContain('oncology');
  });

  it('has the end of a restore by hand', () => {
    const report = restoreReport({ begun: null, ended: { version: 1, publication: 3, how: 'hand' } }, boss);
    expect(report.events).toMatchObject([{ event: 'restore_ended', subject: { id: '1' }, details: { how: 'hand' } }]);
  });
});

describe('the row of a run', () => {
  const edit = { textHash: 'of an edit' };
  const found: Run = runRow(ended(refused(null, 'too-large'), { edit }), null);

  it('keeps the time of an edit that is still there, also where the target could not be read', () => {
    expect(found.drift).toEqual({ ...edit, foundAt: at(4), overwritten: false });
    const later = { startedAt: at(9) };
    expect(runRow(ended(refused(null, 'too-large'), { edit, ...later }), found).drift).toEqual(found.drift);
    expect(runRow(ended(failed, later), found).drift).toEqual(found.drift);
    expect(runRow(ended(applied(aVersion(2)), later), found).drift).toBeNull();
    const other = { textHash: 'of another' };
    expect(runRow(ended(refused(null, 'too-large'), { edit: other, ...later }), found).drift?.foundAt).toEqual(at(9));
  });

  it('counts an edit once while it stays', () => {
    expect(unreportedEdits(ended(applied(aVersion(2)), { edit }), [], null)).toMatchObject([{ overwritten: true }]);
    expect(unreportedEdits(ended(applied(aVersion(2)), { edit }), [], found)).toEqual([]);
    const own = aVersion(2, { edit });
    expect(unreportedEdits(ended(applied(own), { edit }), [unreported(own)], null)).toHaveLength(1);
    const overwritten = runRow(ended(applied(own), { edit }), null);
    expect(unreportedEdits(ended(applied(aVersion(3)), { edit }), [], overwritten)).toHaveLength(1);
  });

  it('keeps since when a change waits, until a run does not refuse it', () => {
    const waiting = runRow(ended(refused('a hash', 'unexplained-change')), null);
    expect(waiting.waiting).toMatchObject({ hash: 'a hash', since: at(4) });
    const later = { startedAt: at(9) };
    const next = (outcome: RunOutcome, given: Partial<EndedRun> = {}) =>
      runRow(ended(outcome, { ...later, ...given }), waiting).waiting;
    expect(next(refused('another hash', 'unexplained-change'))).toMatchObject({ hash: 'another hash', since: at(4) });
    expect(next(failed)).toEqual(waiting.waiting);
    const restore = { version: 1, until: at(59), reason: 'a test' };
    expect(next(refused(null, 'restore-contradicted'), { restore })).toEqual(waiting.waiting);
    expect(next(refused(null, 'proof-difference'))).toBeNull();
    expect(next(applied(aVersion(2)))).toBeNull();
  });
});
