import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import type { AccessChange } from '../../trino-rules/diff/access-change.js';
import type { Finding } from '../../trino-rules/document/finding.js';
import { type Candidate, prepare } from './candidate.js';
import type { Publication } from './publication.js';
import {
  BROKEN_FINDING,
  comparisonKey,
  decide,
  findHandEdit,
  firstStepKey,
  type LatestVersion,
  outcomeOf,
  type RestoreCandidate,
  type Situation,
} from './run-decision.js';

const limits = { bytes: null, maxUnexplainedPercent: 5, warnTableRules: 3000 };
const compiledFor = (person: string): Candidate => {
  const snapshot = aSnapshot().user(person).may('SELECT', 'sales.eu.orders').snapshot();
  return prepare({ snapshot, position: '0:0', previous: null, limits }, 'a build');
};
const [current, next, older] = [compiledFor('ana'), compiledFor('bo'), compiledFor('cy')];
const refusedFor = (candidate: Candidate, ...codes: string[]): Candidate => ({
  ...candidate,
  findings: codes.map((code) => (code === BROKEN_FINDING.code ? BROKEN_FINDING : error(code))),
});
const error = (code: string): Finding => ({ code, severity: 'error', message: `an example of ${code}` });

const published: LatestVersion = {
  version: 7,
  text: current.text,
  hash: current.hash,
  snapshotHash: current.snapshotHash,
  compiler: 'a build',
  isWithdrawal: false,
  isFound: false,
  firstStepOf: null,
  restored: null,
  brokenAt: null,
};

/** One target, in which nothing is behind. */
const held = (text: string | null): Situation['targets'] => [{ text, limitBytes: null, isBehind: false }];

/** A run that has compiled a change of what is published. */
const situation = (given: Partial<Situation> = {}): Situation => ({
  targets: held(current.text),
  isForOpa: false,
  latest: published,
  now: NOW,
  input: next,
  candidate: next,
  foundText: null,
  withdrawal: undefined,
  restoration: null,
  inUse: [current.text ?? ''],
  pendingStep: null,
  firstSteps: new Map(),
  ...given,
});

const change = (gainedInAll: number): AccessChange => ({
  gained: gainedInAll > 0 ? [{ what: 'SELECT from a.b.c', people: ['cy'], others: 0 }] : [],
  lost: [],
  gainedInAll,
  lostInAll: 0,
  peopleGaining: gainedInAll,
  peopleLosing: 0,
  changedPairs: 1,
  allPairs: 2,
});
const restore = { version: 3, until: new Date(NOW.getTime() + 3_600_000), reason: 'the new one is slow' };

/** The older version in place of `intended`. */
function restoring(intended: Candidate | null, gained = 0, given: Partial<RestoreCandidate> = {}): RestoreCandidate {
  const fromIntended = change(gained);
  const key = intended && comparisonKey(intended, published);
  const comparisons = new Map(key === null ? [] : [[key, { fromIntended, fromPublished: change(0) }]]);
  return { restore, isOrdered: false, olderVersion: { ...older, findings: [] }, comparisons, ...given };
}

describe('the decision of a run', () => {
  describe('before anything is compiled', () => {
    const uncompiled = { candidate: null, input: current };

    it('keeps what equal grants and an equal compiler have published', () => {
      expect(decide(situation(uncompiled))).toEqual({ kind: 'keep', restore: null, refusal: null });
    });

    it.each<[string, Partial<Situation>]>([
      ['the first version', { latest: null, targets: held(null) }],
      ['changed grants', { input: next }],
      ['another compiler', { input: { ...current, compiler: 'another build' } }],
      ['an edit by hand', { targets: held('{}') }],
      ['a published withdrawal', { latest: { ...published, isWithdrawal: true } }],
      ['a found version', { latest: { ...published, isFound: true } }],
      ['a version that the engine could not use', { latest: { ...published, brokenAt: NOW } }],
      ['a restore that is over', { latest: { ...published, restored: { ...restore, until: NOW, ended: null } } }],
      ['a restore that is ordered', { restoration: restoring(null, 0, { isOrdered: true }) }],
    ])('compiles for %s', (_, given) => {
      expect(decide(situation({ ...uncompiled, ...given }))).toEqual({ kind: 'prepare' });
    });

    it('keeps a restored version while its restore lasts', () => {
      const latest = { ...published, restored: { ...restore, ended: null } };
      expect(decide(situation({ ...uncompiled, latest, restoration: restoring(null) }))).toEqual({
        kind: 'keep',
        restore,
        refusal: null,
      });
    });
  });

  describe('on rules that may be published', () => {
    it('publishes them', () => {
      const how = { restore: null, refusal: null, isWithdrawal: false, firstStepOf: null, isWritten: true, edit: null };
      expect(decide(situation())).toEqual({ kind: 'publish', next, ...how });
    });

    it('keeps equal ones', () => {
      expect(decide(situation({ candidate: current }))).toMatchObject({ kind: 'keep' });
    });

    it.each<[string, Partial<Situation>]>([
      ['the history has none', { latest: null }],
      [
        'they were found at the target',
        { latest: { ...published, text: next.text, isFound: true }, foundText: next.text },
      ],
      ['the history has others', {}],
    ])('records them without a write where they are live and %s', (_, given) => {
      const targets = held(next.text);
      expect(decide(situation({ ...given, targets }))).toMatchObject({ kind: 'publish', isWritten: false, edit: null });
    });

    it('overwrites an edit by hand', () => {
      expect(findHandEdit(situation({ targets: held(next.text) }))).toBeNull();
      const edited = situation({ targets: held('{}'), candidate: current });
      expect(decide(edited)).toMatchObject({ kind: 'publish', isWritten: true, edit: findHandEdit(edited) });
      expect(findHandEdit(edited)?.textHash).toMatch(/^[0-9a-f]{64}$/);
      expect(findHandEdit(situation({ targets: held(null) }))).toEqual({ textHash: null });
    });

    it('compiles again where another version was found at the target meanwhile', () => {
      const latest = { ...published, text: older.text, isFound: true };
      expect(decide(situation({ latest, foundText: current.text }))).toEqual({ kind: 'prepare' });
      expect(decide(situation({ latest, foundText: older.text }))).toMatchObject({ kind: 'publish' });
    });
  });

  describe('on rules that may not be published', () => {
    const refused = refusedFor(next, 'proof-difference');
    const refusal = { reasons: refused.findings, awaits: null };

    it.each([
      [['proof-difference'], null, 'recorded'],
      [['unexplained-change'], next.hash, 'recorded'],
      [['database-behind'], next.hash, 'recorded'],
      [['unexplained-change', 'too-large'], null, 'recorded'],
      [['rules-broken'], null, 'all'],
      [['rules-broken', 'unexplained-change'], null, 'recorded'],
    ])('for %j makes a withdrawal; an approval that would help: %j; of changes: %j', (codes, awaits, changes) => {
      const candidate = refusedFor(next, ...codes);
      const decision = { kind: 'withdraw', changes, refusal: { reasons: candidate.findings, awaits } };
      expect(decide(situation({ candidate }))).toEqual(decision);
    });

    it('publishes the withdrawal', () => {
      expect(decide(situation({ candidate: refused, withdrawal: older }))).toMatchObject({
        kind: 'publish',
        next: older,
        isWithdrawal: true,
        refusal,
      });
    });

    it('records it where it is live, by an edit that it does not overwrite', () => {
      const edited = situation({ candidate: refused, withdrawal: older, targets: held(older.text) });
      expect(decide(edited)).toMatchObject({ kind: 'publish', isWritten: false, edit: null });
      expect(findHandEdit(edited)).not.toBeNull();
    });

    it('keeps what is published where nothing is taken away', () => {
      expect(decide(situation({ candidate: refused, withdrawal: current }))).toEqual({
        kind: 'keep',
        restore: null,
        refusal,
      });
    });

    it.each<[string, Candidate | null, string[]]>([
      ['there is nothing to take from', null, ['proof-difference']],
      ['that may not be published either', refusedFor(older, 'too-large'), ['proof-difference', 'too-large']],
    ])('leaves everything where %s', (_, withdrawal, codes) => {
      const decision = decide(situation({ candidate: refused, withdrawal }));
      expect(decision).toMatchObject({ kind: 'refuse', refusal: { awaits: null } });
      expect('refusal' in decision && decision.refusal?.reasons.map(({ code }) => code)).toEqual(codes);
    });
  });

  describe('on a restore', () => {
    it('measures first what it would change, where its text may be published at all', () => {
      const restoration = restoring(null);
      expect(decide(situation({ restoration }))).toEqual({ kind: 'compare', candidate: next, restoration });
      const unreadable = { ...restoration, isOrdered: true, olderVersion: refusedFor(older, 'rules-unreadable') };
      expect(decide(situation({ restoration: unreadable }))).toMatchObject({ kind: 'refuse' });
    });

    it('publishes the older text, with all else of what it stands in for', () => {
      const decision = decide(situation({ restoration: restoring(next) }));
      const text = { text: older.text, hash: older.hash, snapshotHash: next.snapshotHash, access: change(0) };
      expect(decision).toMatchObject({ kind: 'publish', next: text, restore, refusal: null, isWithdrawal: false });
    });

    it.each<[string, RestoreCandidate]>([
      ['it gives what the current grants deny', restoring(next, 1)],
      ['the target cannot hold it', restoring(next, 0, { olderVersion: refusedFor(older, 'too-large') })],
    ])('ends it where %s; an ordered one is refused', (_, asked) => {
      expect(decide(situation({ restoration: asked }))).toMatchObject({ kind: 'publish', next, restore: null });
      expect(decide(situation({ restoration: { ...asked, isOrdered: true } }))).toMatchObject({
        kind: 'refuse',
        refusal: { reasons: [{ severity: 'error' }], awaits: null },
      });
    });

    it('holds the version that is published already', () => {
      const latest = { ...published, text: older.text };
      const stays = situation({ latest, targets: held(older.text), restoration: restoring(next) });
      expect(decide(stays)).toMatchObject({ kind: 'publish', restore, isWritten: false });
    });

    it('stands in for a withdrawal, and ends well where it is ordered', () => {
      const refused = situation({ candidate: refusedFor(next, 'proof-difference'), withdrawal: current });
      const lasting = { kind: 'publish', restore, isWithdrawal: false, refusal: { awaits: null } };
      expect(decide({ ...refused, restoration: restoring(current) })).toMatchObject(lasting);
      const ordered = restoring(current, 0, { isOrdered: true });
      expect(decide({ ...refused, restoration: ordered })).toMatchObject({ ...lasting, refusal: null });
    });

    it('keeps it while the current rules are refused, as long as it gives nothing that is withdrawn', () => {
      const candidate = refusedFor(next, 'proof-difference');
      const latest = { ...published, text: older.text, restored: { ...restore, ended: null } };
      const targets = held(older.text);
      const kept = situation({ candidate, withdrawal: current, latest, targets, restoration: restoring(current) });
      expect(decide(kept)).toEqual({ kind: 'keep', restore, refusal: { reasons: candidate.findings, awaits: null } });
      expect(decide({ ...kept, restoration: restoring(current, 1) })).toMatchObject({
        kind: 'publish',
        next: current,
        restore: null,
        isWithdrawal: true,
      });
    });
  });

  describe('on rules that give access with a mask', () => {
    const masked = prepare(
      {
        ...{ position: '0:0', previous: null, limits },
        snapshot: aSnapshot()
          .user('ana')
          .may('SELECT', 'sales.eu.orders')
          .seesMasked('sales.eu.orders', 'card', 'NULL')
          .snapshot(),
      },
      'a build',
    );
    const inUse = [older, current].map(({ text }) => text ?? '');
    const given = situation({ candidate: masked, input: masked, inUse });
    const key = firstStepKey(masked, inUse);
    const finding: Finding = { code: 'masks-first', severity: 'info', message: 'masks first' };
    const step = { text: 'the masks', hash: '5', rules: 1, bytes: 9, access: change(0), finding };
    const pending = { text: step.text, hash: '5', rules: 1, bytes: 9, access: null, findings: [finding] };
    const waiting = { ...pending, firstStepOf: masked.hash };
    const latest = { ...published, text: step.text, firstStepOf: masked.hash };

    it('asks for their first step, and publishes that', () => {
      expect(decide(given)).toEqual({ kind: 'stage', next: masked });
      const made = decide({ ...given, firstSteps: new Map([[key, step]]) });
      expect(made).toMatchObject({
        ...{ kind: 'publish', firstStepOf: masked.hash, isWritten: true },
        next: { text: 'the masks', hash: '5', snapshot: masked.snapshot, findings: [...masked.findings, finding] },
      });
    });

    it('publishes them at once where no step is needed', () => {
      const publish = { kind: 'publish', next: masked, firstStepOf: null };
      expect(decide({ ...given, firstSteps: new Map([[key, null]]) })).toMatchObject(publish);
      expect(decide({ ...given, inUse: [masked.text ?? ''] })).toMatchObject(publish);
      const narrower = { ...masked, access: change(0) };
      expect(decide({ ...given, candidate: narrower, inUse: [current.text ?? ''] })).toMatchObject({ kind: 'publish' });
      expect(decide({ ...given, candidate: narrower })).toMatchObject({ kind: 'stage' });
    });

    it('keeps the step until it is taken as live, and writes it again over an edit', () => {
      const kept = { ...given, latest, targets: held(step.text), pendingStep: waiting };
      expect(decide(kept)).toEqual({ kind: 'keep', restore: null, refusal: null });
      expect(decide({ ...kept, candidate: null, input: published })).toEqual({ kind: 'prepare' });
      expect(decide({ ...kept, targets: held('{}') })).toEqual({ kind: 'stage', next: masked });
      expect(decide({ ...kept, pendingStep: null, inUse: [step.text] })).toMatchObject({ kind: 'stage' });
    });

    it('publishes what is intended meanwhile', () => {
      const kept = { ...given, latest, targets: held(step.text), pendingStep: waiting };
      expect(decide({ ...kept, candidate: next })).toMatchObject({ kind: 'publish', next });
    });
  });

  it('ends as it was decided, and names what this run has published', () => {
    const publication = { ...published, version: 8, checks: [] as Finding[] } as Publication;
    const refusal = { reasons: [error('proof-difference')], awaits: null };
    const kept = { restore: null, refusal: null };
    expect(outcomeOf(kept, publication, true)).toEqual({ kind: 'applied', publication, reasons: [] });
    expect(outcomeOf(kept, publication, false)).toEqual({ kind: 'no_change', publication, reasons: [] });
    expect(outcomeOf({ ...kept, restore }, publication, true)).toMatchObject({ reasons: [{ code: 'restored' }] });
    expect(outcomeOf({ ...kept, refusal }, publication, true)).toEqual({ kind: 'refused', ...refusal, publication });
    expect(outcomeOf({ ...kept, refusal }, publication, false)).toMatchObject({ kind: 'refused', publication: null });
  });
});
