import fc from 'fast-check';
import { aSnapshot, NOW } from '../support/snapshot-builder.js';
import { anySnapshot } from '../support/any-snapshot.js';
import { anyRecordedChanges, type RecordedChanges } from '../support/recorded-changes.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { compareAccess } from '../../src/trino-rules/diff/access-change.js';
import { effective } from '../../src/trino-rules/model/effective-snapshot.js';
import { readSnapshot } from '../../src/trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { AuditProjection } from '../../src/acl-sync/domain/audit-projection.js';
import { prepare } from '../../src/acl-sync/domain/candidate.js';
import { prepareWithdrawal } from '../../src/acl-sync/domain/prepared-withdrawal.js';
import { closedRules } from '../../src/acl-sync/domain/closed-rules.js';
import { explainedSnapshot } from '../../src/acl-sync/domain/explained-snapshot.js';
import { revokedAccess } from '../../src/acl-sync/domain/revoked-access.js';
import { documentOf, type Previous, writtenSnapshot } from '../../src/acl-sync/domain/unexplained-change.js';
import { withdrawal } from '../../src/acl-sync/domain/withdrawal.js';

describe('the effective snapshot', () => {
  it('gives the same rules as the whole snapshot, and can be parsed back', () => {
    fc.assert(
      fc.property(anySnapshot(), (snapshot) => {
        expect(compile(effective(snapshot)).text).toBe(compile(snapshot).text);
        const written: unknown = JSON.parse(writtenSnapshot(snapshot));
        const reading = readSnapshot(written, snapshot);
        expect(reading).toMatchObject({ kind: 'read' });
        if (reading.kind === 'read') expect(writtenSnapshot(reading.snapshot)).toBe(JSON.stringify(written));
      }),
    );
  });
});

describe('an explained snapshot', () => {
  it('is the next snapshot if every change was recorded', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        expect(writtenSnapshot(explained(changed))).toBe(writtenSnapshot(changed.next));
      }),
      { numRuns: 25 },
    );
  });

  it('is the previous snapshot if nothing was recorded', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), ({ previous, next }) => {
        const unexpired = { ...next, at: previous.at };
        expect(writtenSnapshot(explained({ previous, next: unexpired, events: [] }))).toBe(writtenSnapshot(previous));
      }),
    );
  });

  it('compares a row with its last event only: removed, added again, then missing without an event', () => {
    const previous = aSnapshot().group('readers', ['ana']).may('SELECT', 'sales').snapshot();
    const next = { ...previous, groups: previous.groups.map((group) => ({ ...group, members: [] })) };
    const member = { subject: { type: 'group', id: '1', name: null }, details: { user_id: 1 }, at: NOW } as const;
    const removed = { ...member, event: 'member_removed' } as const;
    expect(explained({ previous, next, events: [removed] }).groups).toEqual(next.groups);
    const added = { ...member, event: 'member_added' } as const;
    expect(explained({ previous, next, events: [removed, added] }).groups).toEqual(previous.groups);
  });
});

describe('a withdrawal', () => {
  it('gives no access that the previous or the explained snapshot does not give', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        const reduced = compile(withdrawal(effective(changed.previous), explained(changed))).document;
        const more = [effective(changed.previous), explained(changed)].map((snapshot) => compile(snapshot).document);
        for (const document of more) expect(compareAccess(document, reduced)).toMatchObject({ gained: [] });
      }),
      { numRuns: 25 },
    );
  });

  it('gives no access that the previous or the current settings do not give', () => {
    const given = aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').snapshot();
    const catalogs = fc.subarray(['sales', 'hr', 'web'], { minLength: 1 });
    const settings = fc.record({
      serviceAccounts: fc.subarray(['loader', 'reporter']).map((others) => [given.settings.ownAccount, ...others]),
      writableCatalogs: catalogs,
      readableCatalogs: catalogs,
      impersonation: fc.boolean(),
      sessionProperties: fc.subarray(['query_max_run_time', 'join_reordering_strategy']),
    });
    fc.assert(
      fc.property(settings, settings, (...both) => {
        const [previous, next] = both.map((each) => ({ ...given, settings: { ...given.settings, ...each } }));
        if (previous === undefined || next === undefined) throw new Error('two snapshots');
        const reduced = compile(withdrawal(previous, next)).document;
        for (const snapshot of [previous, next])
          expect(compareAccess(compile(snapshot).document, reduced)).toMatchObject({ gained: [] });
      }),
      { numRuns: 20 },
    );
  });

  it('hides a column when the nearer of two masks was added or removed', () => {
    const wide = () => aSnapshot().user('ana').may('SELECT', 'sales.eu').seesMasked('sales.eu', 'card', 'NULL');
    const [previous, next] = [wide(), wide().seesMasked('sales.eu.orders', 'card', "'x'")].map((w) => w.snapshot());
    if (previous === undefined || next === undefined) throw new Error('two snapshots');
    for (const [before, after] of [
      [previous, next],
      [next, previous],
    ] as const) {
      const { policies } = withdrawal(before, after);
      expect(policies).toMatchObject([{ kind: 'column_mask' }, { kind: 'column_mask' }, { kind: 'hidden_column' }]);
    }
  });

  it('is the explained snapshot if all changes only take access away', () => {
    fc.assert(
      fc.property(anyRecordedChanges('taking'), (changed) => {
        const reduced = withdrawal(effective(changed.previous), explained(changed));
        expect(compile(reduced).text).toBe(compile(explained(changed)).text);
      }),
    );
  });
});

describe('denials in front of the published rules', () => {
  it('give nothing that the published rules or the recorded changes deny', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        const previous = effective(changed.previous);
        const published = compile(previous).document;
        const { ownAccount } = previous.settings;
        const closed = closedRules(published, revokedAccess(previous, explained(changed)), ownAccount);
        const recorded = compile(effective(explained(changed))).document;
        expect(closed).not.toBeNull();
        for (const document of [published, recorded])
          expect(compareAccess(document, closed?.document ?? published)).toMatchObject({ gained: [] });
      }),
      { numRuns: 25 },
    );
  });

  it('keep access that another grant gives, and principals without a loss', () => {
    const previous = aSnapshot()
      .group('a', ['ana', 'bo'])
      .may('SELECT', 'sales')
      .group('b', ['ana'])
      .may('SELECT', 'sales');
    const snapshot = previous.snapshot();
    const next = {
      ...snapshot,
      groups: snapshot.groups.map((group) => ({ ...group, members: group.id === 1 ? [] : group.members })),
    };
    expect(revokedAccess(snapshot, next)).toEqual({
      nodes: [{ resource: { catalog: 'sales' }, names: ['bo'] }],
      withoutAccess: ['bo'],
    });
  });
});

describe('another build of the compiler', () => {
  const tables = Array.from({ length: 60 }, (_, i) => `sales.eu.t${i}`);
  const granting = (...paths: string[]) =>
    paths.reduce((builder, path) => builder.may('SELECT', path), aSnapshot().user('ana')).snapshot();
  /** A publication in which another build compiled `rules` for `snapshot`. */
  const published = (snapshot: Snapshot, rules: Snapshot, compiler = 'another build'): Previous => {
    const { text, hash } = compile(rules);
    const baseline = {
      text,
      hash,
      snapshot: writtenSnapshot(snapshot),
      at: NOW,
      position: '0:0',
      compiler,
      approved: [],
      isFound: false,
    };
    return { baseline, published: text, events: [], settledAt: NOW };
  };
  const prepared = (snapshot: Snapshot, previous: Previous) =>
    prepare(
      { snapshot, position: '0:0', previous, limits: { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 } },
      'this build',
    );
  const withdrawnFrom = (snapshot: Snapshot, previous: Previous) => {
    const limits = { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 };
    return prepareWithdrawal({ snapshot, position: '0:0', previous, limits }, 'this build', {
      how: 'compiled',
      changes: 'recorded',
    });
  };
  const whole = granting('sales', ...tables.map((table) => table.replace('sales', 'hr')));
  const half = granting('sales');

  it('gives no finding when it gives the same access', () => {
    const next = { ...whole, users: whole.users.map((user) => ({ ...user, isActive: false })) };
    const deactivated = {
      event: 'account_deactivated',
      subject: { type: 'user', id: '1', name: null },
      details: {},
      at: NOW,
    } as const;
    const { findings } = prepared(next, { ...published(whole, whole), events: [deactivated] });
    expect(findings).toEqual([]);
  });

  it('waits for an approval when it gives much more, or much less, for the same snapshot', () => {
    for (const [snapshot, rules] of [
      [whole, half],
      [half, whole],
    ] as const) {
      const previous = published(snapshot, rules);
      const { findings, hash } = prepared(snapshot, previous);
      expect(findings).toMatchObject([{ code: 'unexplained-change', severity: 'error' }]);
      expect(withdrawnFrom(snapshot, previous)?.text).toBe(compile(rules).text);
      const approved = { ...previous, baseline: { ...previous.baseline, approved: [hash] } };
      expect(prepared(snapshot, approved).findings).toMatchObject([{ code: 'approved-change', severity: 'info' }]);
    }
  });

  it('counts from the first unpublished change, recorded or an expiry', () => {
    const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
    const ending = { ...whole, grants: whole.grants.map((grant) => ({ ...grant, expiresAt: later(20) })) };
    const previous = published(ending, ending);
    const member = { event: 'member_added', subject: { type: 'group', id: '1', name: null }, details: {} } as const;
    const events = [later(-1), later(30), later(40)].map((at) => ({ ...member, at }));
    expect(prepared({ ...ending, at: later(50) }, { ...previous, events }).changedAt).toEqual(later(20));
    expect(prepared({ ...half, at: later(50) }, { ...published(whole, whole), events }).changedAt).toEqual(later(30));
    expect(prepared({ ...half, at: later(50) }, published(whole, whole)).changedAt).toBeNull();
  });

  it('publishes no new access while it waits for an approval', () => {
    const next = { ...whole, grants: whole.grants.slice(0, -1) };
    const revoked = {
      event: 'grant_revoked',
      subject: { type: 'grant', id: '61', name: null },
      details: {},
      at: NOW,
    } as const;
    const previous = { ...published(whole, half), events: [revoked] };
    expect(prepared(next, previous).findings).toMatchObject([{ code: 'unexplained-change' }]);
    const reduced = withdrawnFrom(next, previous);
    expect(reduced?.findings).toMatchObject([{ code: 'closed-instead', severity: 'warning' }]);
    expect(compareAccess(compile(half).document, documentOf(reduced?.text ?? ''))).toMatchObject({ gainedInAll: 0 });
  });
});

function explained({ previous, next, events }: RecordedChanges): Snapshot {
  return explainedSnapshot(effective(previous), next, new AuditProjection(events));
}
