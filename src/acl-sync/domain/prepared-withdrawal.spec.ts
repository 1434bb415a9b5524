import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { compile } from '../../trino-rules/compile/compile.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { RecordedEvent } from './audit-projection.js';
import { prepareWithdrawal, type WithdrawalOrder } from './prepared-withdrawal.js';
import { type Baseline, documentOf, type Previous, writtenSnapshot } from './unexplained-change.js';

const snapshot = aSnapshot().user('ana').may('SELECT', 'sales').user('bo').may('SELECT', 'hr').snapshot();
const less = { ...snapshot, grants: snapshot.grants.slice(0, 1) };
const revoked: RecordedEvent = {
  event: 'grant_revoked',
  subject: { type: 'grant', id: '2', name: null },
  details: {},
  at: NOW,
};
const compiled: WithdrawalOrder = { how: 'compiled', changes: 'recorded' };

function previous(given: Partial<Baseline> = {}, events = [revoked]): Previous {
  const { text, hash } = compile(snapshot);
  const known = { text, hash, snapshot: writtenSnapshot(snapshot), at: NOW, position: '0:0', compiler: 'a build' };
  const baseline = { ...known, approved: [], isFound: false, ...given };
  return { baseline, published: baseline.text, events, settledAt: new Date(0) };
}

function withdrawn(before: Previous, order = compiled) {
  const limits = { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 };
  const candidate = prepareWithdrawal(
    { snapshot: less, position: '7:3', previous: before, limits },
    'this build',
    order,
  );
  if (candidate === null) throw new Error('there is a previous publication');
  const engine = new Evaluator(documentOf(candidate.text));
  const reads = ['ana', 'bo'].filter((name) => engine.mayRead(name, name === 'ana' ? 'sales' : 'hr'));
  return { ...candidate, codes: candidate.findings.map(({ code }) => code), reads };
}

describe('the rules to publish while a run is refused', () => {
  it('are none before the first publication', () => {
    const limits = { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 };
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
