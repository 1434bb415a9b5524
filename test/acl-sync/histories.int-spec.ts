import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { RunOutcome } from '../../src/acl-sync/domain/publication.js';
import { documentOf } from '../../src/trino-rules/document/rules-reader.js';
import { snapshotSettings } from '../../src/grants/domain/snapshot-store.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { compareAccess } from '../../src/trino-rules/diff/access-change.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { KillSwitch } from './kill-switch.js';
import { SyncUnderTest } from './sync-under-test.js';

const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
const SNAPSHOTS: readonly Snapshot[] = [
  readers().snapshot(),
  readers().user('bo').may('INSERT', 'sales.eu.orders').snapshot(),
  readers().seesOnly('sales.eu.orders', "region = 'EU'").snapshot(),
  aSnapshot().user('bo').group('readers', ['ana']).may('SELECT', 'sales.eu.orders').snapshot(),
  readers().mayNot('sales.eu.orders', 'SELECT').snapshot(),
];
const { settings } = parseSettings({ AUTH_SECRET_KEY: TEST_SECRET });
const TEXTS = SNAPSHOTS.map((snapshot) => compile({ ...snapshot, settings: snapshotSettings(settings) }).text);
const BY_HAND = ['{}', 'nonsense', null];
const HOUR = 3600;

type Step =
  | { kind: 'change'; to: number }
  | { kind: 'run' }
  | { kind: 'kill'; call: number; when: 'before' | 'after' }
  | { kind: 'edit'; text: string | null }
  | { kind: 'conflict'; text: string | null }
  | { kind: 'pass'; hours: number }
  | { kind: 'restore'; version: number }
  | { kind: 'probe'; answer: 'live' | 'broken' };

const edit = fc.oneof(fc.constantFrom(...BY_HAND), fc.constantFrom(...TEXTS));
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('change' as const), to: fc.nat(SNAPSHOTS.length - 1) }) },
  { weight: 4, arbitrary: fc.constant({ kind: 'run' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('kill' as const),
      call: fc.nat(24),
      when: fc.constantFrom('before' as const, 'after' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('edit' as const), text: edit }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('conflict' as const), text: edit }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('pass' as const), hours: fc.constantFrom(1, 25) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('restore' as const), version: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('probe' as const),
      answer: fc.constantFrom('live' as const, 'broken' as const),
    }),
  },
);

/** A filter that nobody recorded; the engine fails on its rules, and the ones before it had none. */
const UNRECORDED_AND_BROKEN: Step[] = [
  { kind: 'run' },
  { kind: 'probe', answer: 'live' },
  { kind: 'change', to: 2 },
  { kind: 'run' },
  { kind: 'probe', answer: 'broken' },
];

/** One history, with everything that was ever live and everything that may be. */
class History {
  private readonly killSwitch = new KillSwitch();
  private readonly sync = new SyncUnderTest(readers().snapshot(), this.killSwitch.through);
  private at = 0;
  private readonly wereLive = new Set<string | null>([null]);

  async take(step: Step): Promise<void> {
    const { sync } = this;
    switch (step.kind) {
      case 'change':
        this.at = step.to;
        sync.snapshot = SNAPSHOTS[step.to] ?? sync.snapshot;
        return;
      case 'run':
        this.judge(await sync.run());
        return;
      case 'kill':
        this.killSwitch.arm(step.call, step.when);
        await sync.run().catch(() => undefined);
        if (!this.killSwitch.disarm()) this.judge(await sync.run());
        this.look();
        return;
      case 'edit':
        sync.target.editByHand(step.text);
        this.wereLive.add(step.text);
        return;
      case 'conflict':
        sync.target.beforePublish = () => {
          sync.target.beforePublish = () => undefined;
          sync.target.editByHand(step.text);
          this.wereLive.add(step.text);
        };
        this.judge(await sync.run());
        sync.target.beforePublish = () => undefined;
        return;
      case 'pass':
        sync.clock.advance(step.hours * HOUR);
        return;
      case 'restore':
        await this.restore(step.version);
        return;
      case 'probe': {
        const latest = await sync.history.latest();
        if (latest?.text !== sync.target.text) return;
        if (step.answer === 'live') await sync.history.markLive(latest.version, sync.clock.now());
        else await sync.history.markBroken(latest.version, sync.clock.now());
      }
    }
  }

  private async restore(version: number): Promise<void> {
    if ((await this.sync.history.find(version)) === null) return;
    const until = new Date(this.sync.clock.now().getTime() + 24 * HOUR * 1000);
    this.judge(await this.sync.run({ trigger: 'restore', restore: { version, until, reason: 'a test' } }));
  }

  /** A run that ended well leaves the current intent; only a restore or a broken text may leave less of it. */
  private judge(outcome: RunOutcome): void {
    this.look();
    const { text } = this.sync.target;
    const isExact = (outcome.kind === 'applied' || outcome.kind === 'no_change') && outcome.reasons.length === 0;
    if (isExact) expect(text).toBe(TEXTS[this.at]);
    else if (outcome.kind !== 'failed') this.expectNothingDenied(outcome);
  }

  private expectNothingDenied(outcome: RunOutcome): void {
    if (outcome.kind === 'refused' && outcome.publication === null) return; // nothing could be published
    const gained = compareAccess(documentOf(TEXTS[this.at] ?? ''), documentOf(this.sync.target.text ?? '')).gainedInAll;
    expect({ outcome, gained }).toMatchObject({ gained: 0 });
  }

  /** The previous text was live, and what is live was written by hand or follows from a snapshot. */
  private look(): void {
    const { target } = this.sync;
    for (const { text } of target.published) this.wereLive.add(text);
    expect(this.wereLive).toContain(target.former);
    expect(this.wereLive).toContain(target.text);
  }
}

describe('any history of changes, edits, conflicts, restores and killed runs', () => {
  it('leaves the rules that the current grants mean, and a previous text that was live', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
        const history = new History();
        for (const each of steps) await history.take(each);
        await history.take({ kind: 'pass', hours: 25 });
        await history.take({ kind: 'run' });
      }),
      // HISTORIES=1000 takes half a minute.
      { numRuns: Number(process.env['HISTORIES'] ?? 40), examples: [[UNRECORDED_AND_BROKEN]] },
    );
  });

  it('is repaired by the next run, whichever call of a run was its last', async () => {
    for await (const sync of interruptedRuns()) {
      const live = sync.target.text;
      expect([TEXTS[0], TEXTS[1]]).toContain(live);
      expect(['applied', 'no_change']).toContain((await sync.run()).kind);

      expect(sync.target.text).toBe(TEXTS[1]);
      expect(sync.target.former).toBe(TEXTS[0]);
      expect(await sync.history.latest()).toMatchObject({ text: TEXTS[1] });
      expect(sync.history.rows.filter(({ state }) => state === 'begun')).toEqual([]);
    }
  });

  it('is reported in full, whichever call of a run was its last', async () => {
    const edit = 'an edit by hand';
    for await (const sync of interruptedRuns((target) => target.editByHand(edit))) {
      await sync.run();

      const versions = sync.history.rows.filter(({ state }) => state === 'published').map(({ version }) => version);
      const events = (name: string) => sync.audited.filter(({ event }) => event === name);
      expect(events('publication_applied').map(({ subject }) => Number(subject?.id))).toEqual(versions);
      expect(events('drift_found').map(({ details }) => details)).toEqual([
        { trigger: 'schedule', text_hash: createHash('sha256').update(edit).digest('hex') },
      ]);
    }
  });
});

/** A run that publishes a change, killed before and after each of its calls in turn. */
async function* interruptedRuns(
  meanwhile: (target: SyncUnderTest['target']) => void = () => undefined,
): AsyncGenerator<SyncUnderTest> {
  for (const when of ['before', 'after'] as const) {
    for (let call = 0; ; call++) {
      const killSwitch = new KillSwitch();
      const sync = new SyncUnderTest(SNAPSHOTS[0] ?? readers().snapshot(), killSwitch.through);
      await sync.run();
      sync.snapshot = SNAPSHOTS[1] ?? sync.snapshot;
      meanwhile(sync.target);
      killSwitch.arm(call, when);
      await sync.run().catch(() => undefined);
      if (!killSwitch.disarm()) break;
      yield sync;
    }
  }
}
