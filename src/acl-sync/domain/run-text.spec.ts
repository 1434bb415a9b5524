import { at, aVersion } from '../../../test/support/snapshots/a-version.js';
import type { RunFailure, RunOutcome } from './publication.js';
import type { RecordedGuarantee } from '../../grants/domain/guarantee.js';
import { opaStatus } from './opa-status.js';
import { findingLines, runLines, statusForm, type SyncStatus } from './run-text.js';

const runText = (...run: Parameters<typeof runLines>): string => runLines(...run).join('\n');

const published = aVersion(7, { hash: 'aaaaaaaa' });
const refused = (awaits: string | null, publication: typeof published | null = null): RunOutcome => ({
  kind: 'refused',
  reasons: [{ code: 'too-large', severity: 'error', message: 'the rules are too large' }],
  awaits,
  publication,
});
const failed = (auditId: string | null) => {
  const failure: RunFailure = { reason: 'forbidden', message: 'no patch of the object', auditId, cause: null };
  return runText({ kind: 'failed', failure }, { published, now: at(0) });
};

describe('the text of a run', () => {
  it('counts what it published', () => {
    const publication = aVersion(8, { hash: 'bbbbbbbb', diff: { added: ['a', 'b'], removed: ['c'] } });
    expect(runText({ kind: 'applied', publication, reasons: [] }, { published, now: at(9) })).toBe(
      'TRINO_ACL_SYNC_APPLIED  version 8 (bbbbbb): 3 rules, 6 bytes, 2 added, 1 removed',
    );
  });

  it('tells what is known of a run elsewhere', () => {
    const { diff: _, ...publication } = aVersion(8, { hash: 'bbbbbbbb' });
    expect(runText({ kind: 'applied', publication, reasons: [] })).toBe(
      'TRINO_ACL_SYNC_APPLIED  version 8 (bbbbbb): 3 rules, 6 bytes',
    );
    expect(runText(refused(null))).toContain('; the live rules stay\n');
  });

  it('says why the published rules are not those of the grants', () => {
    const reasons = [{ code: 'masks-first', severity: 'info', message: 'masks first' } as const];
    const finding = '  info: masks first  [masks-first]';
    expect(runText({ kind: 'applied', publication: published, reasons })).toMatch(
      `bytes, 1 added, 0 removed\n${finding}`,
    );
    expect(runText({ kind: 'no_change', publication: published, reasons })).toMatch(`(aaaaaa) stays\n${finding}`);
  });

  it('names the version that stays where nothing changed', () => {
    expect(runText({ kind: 'no_change', publication: published, reasons: [] }, { published, now: at(9) })).toBe(
      'TRINO_ACL_SYNC_NO_CHANGE  version 7 (aaaaaa) matches the grants',
    );
  });

  it.each([
    [
      'rules that cannot be published',
      refused(null),
      published,
      'the new rules cannot be published; the live rules stay (aaaaaa, 4 min old)',
    ],
    [
      'the same before the first publication',
      refused(null),
      null,
      'the new rules cannot be published; nothing has been published yet',
    ],
    [
      'a change that waits',
      refused('hash'),
      published,
      'an unexplained change waits for an approval; the live rules stay (aaaaaa, 4 min old)',
    ],
    [
      'a change that waits while revoked access is withdrawn',
      refused('hash', aVersion(8, { hash: 'bbbbbbbb' })),
      published,
      'an unexplained change waits for an approval; what was taken away is published (version 8, bbbbbb)',
    ],
  ])('gives the consequence and the reasons of %s', (_, outcome, latest, consequence) => {
    expect(runText(outcome, { published: latest, now: at(9.99) })).toBe(
      `TRINO_ACL_SYNC_REFUSED  ${consequence}\n  the rules are too large  [too-large]`,
    );
  });

  it('has the audit id of a failure where the API server gave one', () => {
    expect(failed('a-1')).toBe('TRINO_ACL_SYNC_FAILED  forbidden: no patch of the object (audit id a-1)');
    expect(failed(null)).toBe('TRINO_ACL_SYNC_FAILED  forbidden: no patch of the object');
  });
});

describe('the text of a finding', () => {
  it('has its severity unless it is an error, and the rule with its witness below', () => {
    const found = { code: 'dead-rule', severity: 'warning', message: 'never applies' } as const;
    expect(findingLines(found).join('\n')).toBe('  warning: never applies  [dead-rule]');
    expect(findingLines({ ...found, rule: 'tables[3]' }).join('\n')).toBe(
      '  warning: never applies  [dead-rule]\n    tables[3]',
    );
    expect(findingLines({ ...found, severity: 'error', rule: 'tables[3]', witness: '{"user":"ana"}' }).join('\n')).toBe(
      '  never applies  [dead-rule]\n    tables[3]  {"user":"ana"}',
    );
  });
});

const unused: SyncStatus = {
  lastRun: null,
  lastSuccessAt: null,
  refusedSince: null,
  failedSince: null,
  live: null,
  databaseBehind: null,
  nextRunAt: null,
  published: null,
  restore: null,
  targets: [{ key: 'file', name: 'file rules.json' }],
  engineTarget: 'file',
  guarantees: [],
  opa: null,
};

const A_GUARANTEE: RecordedGuarantee = {
  guarantee: {
    ...{ id: 3, name: 'only payroll', kind: 'only', mode: 'enforced', count: 0 },
    ...{ principal: { type: 'everyone' }, except: [], scopes: [] },
  },
  ...{ description: null, writtenBy: null, createdAt: at(0), changedAt: at(0), judgedAt: at(0), brokenSince: null },
  names: null,
  judgement: {
    brokenBy: 1,
    checked: { principals: 1, nodes: 1 },
    witnesses: [
      {
        ...{ principal: { type: 'user', id: 1, name: 'ana' }, resource: {}, privilege: 'SELECT' },
        ...{ grants: [1], policies: [], through: 'directly', message: 'ana may SELECT' },
      },
    ],
  },
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
      broken_guarantees: [],
      target: 'file rules.json',
      targets: [{ kind: 'file', name: 'file', published: null, live: null, outcome: null, error: null }],
    });
  });

  it('tells each moment from the others', () => {
    const reasons = [{ code: 'unexplained-change', severity: 'error', message: 'much changes' } as const];
    const status: SyncStatus = {
      lastRun: {
        at: at(1),
        trigger: 'schedule',
        outcome: 'refused',
        triggeredBy: null,
        isRestore: false,
        reasons,
        drift: { textHash: 'edited', foundAt: at(2), overwritten: false },
        waiting: { hash: 'next', since: at(3), reasons },
        targets: [
          { target: 'file', held: { revision: 'v7-0123456789ab', textHash: 'f' }, failure: null },
          { target: 'configmap:a/b', held: null, failure: { reason: 'forbidden', message: 'no right to patch' } },
        ],
      },
      lastSuccessAt: at(4),
      refusedSince: at(6),
      failedSince: at(7),
      live: { version: 6, snapshotHash: '0123456789abcdef', hash: 'live', confirmedAt: at(8) },
      databaseBehind: { version: 9, hash: 'f00', foundAt: at(9) },
      nextRunAt: at(10),
      published: aVersion(7, { trigger: 'cli' }),
      restore: { version: 3, until: at(11), reason: 'the new one is slow' },
      targets: [
        { key: 'file', name: 'file rules.json' },
        { key: 'configmap:a/b', name: 'configmap a/b' },
        { key: 'configmap:a/new', name: 'configmap a/new' },
      ],
      engineTarget: 'file',
      guarantees: [
        { ...A_GUARANTEE, brokenSince: at(12) },
        { ...A_GUARANTEE, brokenSince: null },
      ],
      opa: null,
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
      broken_guarantees: [{ id: 3, name: 'only payroll', since: moment(12), message: 'ana may SELECT' }],
      target: 'file rules.json, configmap a/b, configmap a/new',
      targets: [
        {
          ...{ kind: 'file', name: 'file', published: 'v7-0123456789ab', live: 'v6-0123456789ab' },
          ...{ outcome: 'available', error: null },
        },
        {
          ...{ kind: 'configmap', name: 'configmap:a/b', published: null, live: null },
          ...{ outcome: 'failed', error: 'forbidden: no right to patch' },
        },
        {
          ...{ kind: 'configmap', name: 'configmap:a/new', published: null, live: null },
          ...{ outcome: null, error: null },
        },
      ],
    });
  });

  it('has instances and canary where OPA is a target', () => {
    const published = 'v7-0123456789ab';
    const instance = { instance: 'trino-0', revision: published, errors: [], seenAt: at(4), requestedAt: at(3) };
    const reports = { instances: [instance], canary: { answer: published, at: at(4) } };
    const live = opaStatus(reports, published, 300, at(5));
    const failing = opaStatus(
      { ...reports, instances: [{ ...instance, errors: ['no signature'] }] },
      published,
      300,
      at(5),
    );

    expect(statusForm({ ...unused, opa: live })).toMatchObject({
      target: 'file rules.json, opa',
      targets: [
        { kind: 'file' },
        { kind: 'opa', name: 'opa', published, live: published, outcome: 'available', error: null },
      ],
      instances: [{ instance: 'trino-0', revision: published, last_seen_at: at(4).toISOString(), errors: [] }],
      canary: { answer: published, at: at(4).toISOString() },
    });
    expect(statusForm({ ...unused, opa: failing }).targets[1]).toMatchObject({
      ...{ live: published, outcome: 'failed', error: 'trino-0: no signature' },
    });
    expect(statusForm({ ...unused, opa: opaStatus({ instances: [], canary: null }, null, 300, at(5)) })).toMatchObject({
      targets: [{ kind: 'file' }, { published: null, live: null, outcome: null, error: null }],
      instances: [],
      canary: null,
    });
  });
});
