import fc from 'fast-check';
import { aWorld, NOW } from '../../../test/support/a-world.js';
import { anyWorld } from '../../../test/support/any-world.js';
import { anyRecordedChanges, type ChangedWorld } from '../../../test/support/recorded-world.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import { readSnapshot } from '../../trino-rules/model/snapshot-file.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import { prepare, prepareWithdrawal } from './candidate.js';
import { closedRules } from './closed-rules.js';
import { explainedWorld } from './explained-world.js';
import { LastWords } from './last-words.js';
import { documentOf, type Former, writtenSnapshot } from './surprise.js';
import { takings } from './takings.js';
import { withdrawal } from './withdrawal.js';

describe('what has effect in a snapshot', () => {
  it('is what the rules follow from, and can be read back', () => {
    fc.assert(
      fc.property(anyWorld(), (snapshot) => {
        expect(compile(effective(snapshot)).text).toBe(compile(snapshot).text);
        const written: unknown = JSON.parse(writtenSnapshot(snapshot));
        const reading = readSnapshot(written, snapshot);
        expect(reading).toMatchObject({ kind: 'read' });
        if (reading.kind === 'read') expect(writtenSnapshot(reading.snapshot)).toBe(JSON.stringify(written));
      }),
    );
  });
});

describe('an explained world', () => {
  it('is the next one, whatever was recorded', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        expect(writtenSnapshot(explained(changed))).toBe(writtenSnapshot(changed.next));
      }),
      { numRuns: 150 },
    );
  });

  it('is the former one where nothing was recorded', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), ({ former, next }) => {
        const settled = { ...next, at: former.at };
        expect(writtenSnapshot(explained({ former, next: settled, events: [] }))).toBe(writtenSnapshot(former));
      }),
    );
  });

  it('does not take an older word for a newer deed: removed, added again, and vanished', () => {
    const former = aWorld().group('readers', ['ana']).may('SELECT', 'sales').snapshot();
    const next = { ...former, groups: former.groups.map((group) => ({ ...group, members: [] })) };
    const member = { subject: { type: 'group', id: '1', name: null }, details: { user_id: 1 }, at: NOW } as const;
    const removed = { ...member, event: 'member_removed' } as const;
    expect(explained({ former, next, events: [removed] }).groups).toEqual(next.groups);
    const added = { ...member, event: 'member_added' } as const;
    expect(explained({ former, next, events: [removed, added] }).groups).toEqual(former.groups);
  });
});

describe('a withdrawal', () => {
  it('gives nobody anything that either the former or the explained world does not give', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        const less = compile(withdrawal(effective(changed.former), explained(changed))).document;
        const more = [effective(changed.former), explained(changed)].map((world) => compile(world).document);
        for (const document of more) expect(compareAccess(document, less)).toMatchObject({ gained: [] });
      }),
      { numRuns: 60 },
    );
  });

  it('hides a column between two masks, until it is settled which of them counts', () => {
    const wide = () => aWorld().person('ana').may('SELECT', 'sales.eu').seesMasked('sales.eu', 'card', 'NULL');
    const [former, next] = [wide(), wide().seesMasked('sales.eu.orders', 'card', "'x'")].map((w) => w.snapshot());
    if (former === undefined || next === undefined) throw new Error('two worlds');
    for (const [before, after] of [
      [former, next],
      [next, former],
    ] as const) {
      const { policies } = withdrawal(before, after);
      expect(policies).toMatchObject([{ kind: 'column_mask' }, { kind: 'column_mask' }, { kind: 'hidden_column' }]);
    }
  });

  it('is the explained world where changes only take', () => {
    fc.assert(
      fc.property(anyRecordedChanges('taking'), (changed) => {
        const world = withdrawal(effective(changed.former), explained(changed));
        expect(compile(world).text).toBe(compile(explained(changed)).text);
      }),
    );
  });
});

describe('denials in front of the published rules', () => {
  it('take at least what the withdrawal takes, and give nobody anything', () => {
    fc.assert(
      fc.property(anyRecordedChanges('anything'), (changed) => {
        const former = effective(changed.former);
        const published = compile(former).document;
        const closed = closedRules(published, takings(former, explained(changed)));
        const less = compile(withdrawal(former, explained(changed))).document;
        expect(closed).not.toBeNull();
        for (const document of [published, less])
          expect(compareAccess(document, closed?.document ?? published)).toMatchObject({ gained: [] });
      }),
      { numRuns: 100 },
    );
  });

  it('leave alone what somebody has from elsewhere, and who lost nothing', () => {
    const former = aWorld().group('a', ['ana', 'bo']).may('SELECT', 'sales').group('b', ['ana']).may('SELECT', 'sales');
    const snapshot = former.snapshot();
    const next = {
      ...snapshot,
      groups: snapshot.groups.map((group) => ({ ...group, members: group.id === 1 ? [] : group.members })),
    };
    expect(takings(snapshot, next)).toEqual({
      nodes: [{ resource: { catalog: 'sales' }, names: ['bo'] }],
      everything: ['bo'],
    });
  });
});

describe('another build of the compiler', () => {
  const tables = Array.from({ length: 60 }, (_, i) => `sales.eu.t${i}`);
  const world = (...paths: string[]) =>
    paths.reduce((story, path) => story.may('SELECT', path), aWorld().person('ana')).snapshot();
  /** As if the build before had made these rules of this world. */
  const published = (snapshot: Snapshot, rules: Snapshot, compiler = 'the build before'): Former => {
    const { text, hash } = compile(rules);
    const basis = { text, hash, snapshot: writtenSnapshot(snapshot), at: NOW, position: '0:0', compiler, approved: [] };
    return { basis, published: text, events: [], settledAt: NOW };
  };
  const judged = (snapshot: Snapshot, former: Former) =>
    prepare(
      { snapshot, position: '0:0', former, limits: { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 } },
      'this build',
    );
  const withdrawnFrom = (snapshot: Snapshot, former: Former) => {
    const limits = { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 };
    return prepareWithdrawal({ snapshot, position: '0:0', former, limits }, 'this build', 'compiled');
  };
  const whole = world('sales', ...tables.map((table) => table.replace('sales', 'hr')));
  const half = world('sales');

  it('surprises nobody when it gives the same', () => {
    const next = { ...whole, users: whole.users.map((user) => ({ ...user, isActive: false })) };
    const turned = {
      event: 'account_deactivated',
      subject: { type: 'user', id: '1', name: null },
      details: {},
      at: NOW,
    } as const;
    const { findings } = judged(next, { ...published(whole, whole), events: [turned] });
    expect(findings).toEqual([]);
  });

  it('waits for an approval when it gives much more, or much less, of the same world', () => {
    for (const [snapshot, rules] of [
      [whole, half],
      [half, whole],
    ] as const) {
      const former = published(snapshot, rules);
      const { findings, hash } = judged(snapshot, former);
      expect(findings).toMatchObject([{ code: 'unexplained-change', severity: 'error' }]);
      expect(withdrawnFrom(snapshot, former)?.text).toBe(compile(rules).text);
      const approved = { ...former, basis: { ...former.basis, approved: [hash] } };
      expect(judged(snapshot, approved).findings).toMatchObject([{ code: 'approved-change', severity: 'info' }]);
    }
  });

  it('is counted from the first change that waits, recorded or by the clock', () => {
    const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);
    const ending = { ...whole, grants: whole.grants.map((grant) => ({ ...grant, expiresAt: later(20) })) };
    const former = published(ending, ending);
    const member = { event: 'member_added', subject: { type: 'group', id: '1', name: null }, details: {} } as const;
    const events = [later(-1), later(30), later(40)].map((at) => ({ ...member, at }));
    expect(judged({ ...ending, at: later(50) }, { ...former, events }).changedAt).toEqual(later(20));
    expect(judged({ ...half, at: later(50) }, { ...published(whole, whole), events }).changedAt).toEqual(later(30));
    expect(judged({ ...half, at: later(50) }, published(whole, whole)).changedAt).toBeNull();
  });

  it('lets nothing out meanwhile that was not published before', () => {
    const next = { ...whole, grants: whole.grants.slice(0, -1) };
    const revoked = {
      event: 'grant_revoked',
      subject: { type: 'grant', id: '61', name: null },
      details: {},
      at: NOW,
    } as const;
    const former = { ...published(whole, half), events: [revoked] };
    expect(judged(next, former).findings).toMatchObject([{ code: 'unexplained-change' }]);
    const less = withdrawnFrom(next, former);
    expect(less?.findings).toMatchObject([{ code: 'closed-instead', severity: 'warning' }]);
    expect(compareAccess(compile(half).document, documentOf(less?.text ?? ''))).toMatchObject({ gainedInAll: 0 });
  });
});

function explained({ former, next, events }: ChangedWorld): Snapshot {
  return explainedWorld(effective(former), next, new LastWords(events));
}
