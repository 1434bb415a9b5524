import fc from 'fast-check';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { anyRecordedChanges, explained } from '../../../test/support/snapshots/recorded-changes.js';
import { aSnapshot, NOW, SETTINGS } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import type { Snapshot } from '../../trino-rules/model/snapshot.js';
import type { RecordedEvent } from './explained-snapshot.js';
import { prepareWithdrawal, type WithdrawalOrder } from './prepared-withdrawal.js';
import { type Baseline, type PreviousState, writtenSnapshot } from './unexplained-change.js';
import { documentOf } from '../../trino-rules/document/rules-reader.js';

const snapshot = aSnapshot().user('ana').may('SELECT', 'sales').user('bo').may('SELECT', 'hr').snapshot();
const less = { ...snapshot, grants: snapshot.grants.slice(0, 1) };
const revoked: RecordedEvent = {
  event: 'grant_revoked',
  subject: { type: 'grant', id: '2', name: null },
  details: {},
  at: NOW,
};
const compiled: WithdrawalOrder = { how: 'compiled', changes: 'recorded' };
const limits = { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 };

function previous(given: Partial<Baseline> = {}, events = [revoked], was = snapshot): PreviousState {
  const { text, hash } = compile(was);
  const known = { text, hash, snapshot: writtenSnapshot(was), at: NOW, position: '0:0', compiler: 'a build' };
  const baseline = { ...known, approved: [], isFound: false, ...given };
  return { baseline, publishedAccess: baseline, events, settledAt: new Date(0) };
}

function withdrawn(before: PreviousState, order = compiled) {
  const candidate = prepareWithdrawal(
    { snapshot: less, position: '7:3', previous: before, limits },
    'this build',
    order,
  );
  if (candidate === null) throw new Error('there is a previous publication');
  const engine = new Evaluator(documentOf(candidate.text ?? ''));
  const reads = ['ana', 'bo'].filter((name) => engine.mayReadCatalog(name, name === 'ana' ? 'sales' : 'hr'));
  return { ...candidate, codes: candidate.findings.map(({ code }) => code), reads };
}

describe('the rules to publish while a run is refused', () => {
  it('are none before the first publication', () => {
    expect(prepareWithdrawal({ snapshot, position: '0:0', previous: null, limits }, '', compiled)).toBeNull();
  });

  it('are compiled from what the changes leave', () => {
    const rules = withdrawn(previous());
    expect(rules).toMatchObject({ codes: [], reads: ['ana'], compiler: 'this build', position: '7:3' });
    expect(rules.access).toMatchObject({ gainedInAll: 0 });
    expect(rules.access?.lost.map(({ people }) => people)).toContainEqual(['bo']);
    expect(rules.changedAt).toEqual(NOW);
  });

  it('are the baseline with denials in front where the compiler did not end, or where the baseline was found', () => {
    for (const rules of [
      withdrawn(previous(), { how: 'closed', changes: 'recorded' }),
      withdrawn(previous({ isFound: true })),
    ])
      expect(rules).toMatchObject({ codes: ['closed-instead'], reads: ['ana'], compiler: 'a build', position: '0:0' });
  });

  it('are the baseline where nothing that is on record was taken away', () => {
    expect(withdrawn(previous({}, []))).toMatchObject({
      codes: [],
      reads: ['ana', 'bo'],
      text: compile(snapshot).text,
    });
    expect(withdrawn(previous({}, []), { how: 'compiled', changes: 'all' })).toMatchObject({ reads: ['ana'] });
  });

  it('are a found baseline as it is, where no snapshot was ever published', () => {
    const found = withdrawn(previous({ isFound: true, snapshot: '' }));
    expect(found).toMatchObject({ codes: [], text: compile(snapshot).text });
  });

  it.each([
    ['this build cannot read its snapshot', { snapshot: '{"version":2}' }],
    ['its text cannot be read', { text: 'no rules', isFound: true }],
  ])('cannot be made of a baseline where %s', (_, given) => {
    expect(withdrawn(previous(given))).toMatchObject({ codes: ['withdrawal-impossible'], access: null });
  });
});

/** The withdrawal that shuts people out of a text, and what the engine answers by it. @param text may hold rules that no compiler wrote */
function shut(was: Snapshot, is: Snapshot, text = compile(was).text, isFound = true, events: RecordedEvent[] = []) {
  const before = previous({ text, isFound }, events, was);
  const order = { how: 'closed', changes: events.length > 0 ? 'recorded' : 'all' } as const;
  const candidate = prepareWithdrawal({ snapshot: is, position: '7:3', previous: before, limits }, '', order);
  if (candidate === null) throw new Error('there is a previous publication');
  const errors = candidate.findings.filter(({ severity }) => severity === 'error').map(({ code }) => code);
  const document = documentOf(candidate.text ?? '');
  return { errors, document, engine: new Evaluator(document) };
}

describe('a text in which those who lost something are shut out', () => {
  const { ownAccount } = SETTINGS;
  const services = { serviceAccounts: [ownAccount, 'loader', 'reporter'], sessionProperties: ['query_max_run_time'] };
  const staff = () =>
    aSnapshot().with(services).user('ana').may('SELECT', 'sales').engine('dash').may('SELECT', 'sales');
  const acting = () => staff().may('IMPERSONATE', { as: { type: 'everyone' } });

  it('lets a program that lost something act as nobody, whatever the found text lets it do', () => {
    const { document, ...rest } = compile(staff().snapshot());
    const found = { ...document, impersonation: [{ original_user: 'dash', new_user: '.*', allow: true }] };
    const is = staff().snapshot();
    const { engine } = shut(staff().snapshot(), { ...is, grants: is.grants.slice(0, 1) }, JSON.stringify(found));
    expect(rest.text).toContain('dash');
    for (const name of ['ana', 'cy', ownAccount]) expect(engine.mayImpersonate('dash', name)).toBe(false);
    expect([engine.mayReadCatalog('dash', 'sales'), engine.mayReadCatalog('ana', 'sales')]).toEqual([false, true]);
  });

  it('lets a program go on that acts as somebody who lost something, and lets nobody act as that one', () => {
    const { engine } = shut(acting().user('bo').snapshot(), acting().deactivated('bo').snapshot());
    expect(['ana', 'bo'].map((name) => engine.mayImpersonate('dash', name))).toEqual([true, false]);
    expect(engine.mayReadCatalog('dash', 'sales')).toBe(true);
    const denied = acting()
      .mayNot({ as: { type: 'user', id: 1 } })
      .snapshot();
    expect(shut(acting().snapshot(), denied).engine.mayImpersonate('dash', 'ana')).toBe(false);
  });

  it('takes what the settings take, of a found text without a record', () => {
    const settings = {
      ...{ serviceAccounts: [ownAccount, 'reporter'], sessionProperties: [], impersonation: false },
      ...{ writableCatalogs: [], readableCatalogs: ['tpch'] },
    };
    const was = acting().snapshot();
    const is = acting().with(settings).snapshot();
    const { errors, engine } = shut(was, is, compile(was).text, true, [revoked]);
    expect(errors).toEqual([]);
    const reads = (name: string) =>
      ['lake', 'tpch', 'system'].filter((catalog) => engine.mayReadCatalog(name, catalog));
    expect([reads('loader'), reads('reporter'), reads(ownAccount)]).toEqual([
      [],
      ['tpch', 'system'],
      ['tpch', 'system'],
    ]);
    const sets = ['loader', 'reporter', ownAccount, 'ana'].filter((name) =>
      engine.maySetSystemSessionProperty(name, 'query_max_run_time'),
    );
    expect(sets).toEqual(['reporter', ownAccount]);
    expect(engine.hasQueryRight('loader', 'execute')).toBe(false);
    expect(engine.mayImpersonate(ownAccount, 'ana')).toBe(false);
    expect([engine.mayImpersonate('dash', 'ana'), engine.hasQueryRight('ana', 'execute')]).toEqual([true, true]);
  });

  it('leaves settings that no record explains to an approval, where the text was not found', () => {
    const was = staff().snapshot();
    const is = staff()
      .with({ serviceAccounts: [ownAccount] })
      .snapshot();
    expect(shut(was, is, compile(was).text, false, [revoked]).engine.mayReadCatalog('loader', 'lake')).toBe(true);
    expect(shut(was, is, compile(was).text, false).engine.mayReadCatalog('loader', 'lake')).toBe(false);
  });

  it('gives nothing that the text or the changes do not give', () => {
    const settings = fc.option(anySnapshot().map((other) => other.settings));
    fc.assert(
      fc.property(anyRecordedChanges('anything'), settings, (changed, changedSettings) => {
        const was = effectiveSnapshot(changed.previous);
        const recorded = explained(changed);
        const is = effectiveSnapshot({ ...recorded, settings: changedSettings ?? recorded.settings });
        const { errors, document } = shut(was, is, compile(was).text, false);
        expect(errors).toEqual([]);
        for (const most of [was, is])
          expect(compareAccess(compile(most).document, document)).toMatchObject({ gained: [] });
      }),
      { numRuns: 25 },
    );
  });
});
