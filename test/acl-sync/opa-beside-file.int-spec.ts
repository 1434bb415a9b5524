import { snapshotDigest } from '../../src/acl-sync/domain/candidate.js';
import { RulesTargetUnavailable } from '../../src/acl-sync/domain/rules-target.js';
import { LeaseLost } from '../../src/acl-sync/domain/run-ports.js';
import { storedSnapshot } from '../../src/acl-sync/domain/version-access.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { grantDetails } from '../../src/grants/domain/audit-details.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import type { FakeRulesTarget } from '../support/fakes/fake-rules-target.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const HOUR_SECONDS = 3600;
const ORDERS = 'sales.eu.orders';

describe('a run with OPA beside a file', () => {
  let sync: SyncUnderTest;
  const started = (snapshot: Snapshot) => new SyncUnderTest(snapshot, undefined, [], true);
  const hoursFromNow = (hours: number) => new Date(sync.clock.now().getTime() + hours * HOUR_SECONDS * 1000);

  /** The ends of the grants by which OPA decides. */
  const endsAtOpa = async () => {
    const { version = 0 } = (await sync.history.newestAccess()) ?? {};
    const grants = storedSnapshot((await sync.history.accessSnapshot(version)) ?? '')?.grants ?? [];
    return grants.map(({ expiresAt }) => expiresAt);
  };

  describe('after a change that leaves the rules as they are', () => {
    const untilThen = (expiresAt?: Date) =>
      aSnapshot()
        .user('ana')
        .may('SELECT', ORDERS, expiresAt && { expiresAt });
    let tonight: Date;
    beforeEach(async () => {
      sync = started(untilThen().snapshot());
      tonight = hoursFromNow(6);
      sync.snapshot = untilThen(tonight).snapshot();
      await sync.run();
    });

    it('gives OPA a longer grant before the shorter one ends', async () => {
      const later = hoursFromNow(100);
      sync.snapshot = untilThen(tonight).may('SELECT', ORDERS, { expiresAt: later }).snapshot();
      const text = sync.target.text;

      expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 2, diff: { added: [] } } });

      expect(await endsAtOpa()).toEqual([tonight, later]);
      expect([sync.target.text, sync.target.former]).toEqual([text, null]);
      expect(sync.target.written).toMatchObject({ generation: 2 });
      expect(sync.audited.map(({ event }) => event)).not.toContain('drift_found');
      expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 2 } });
      sync.clock.advance(7 * HOUR_SECONDS);
      expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 3 } });
      expect(await endsAtOpa()).toEqual([later]);
    });

    it('gives OPA the end of the grant that replaces one without an end', async () => {
      sync.snapshot = untilThen().snapshot();
      await sync.run();
      expect(await endsAtOpa()).toEqual([null]);
      sync.snapshot = untilThen(tonight).snapshot();

      expect(await sync.preview()).toMatchObject({ would: 'publish', diff: { rules: { added: [], removed: [] } } });
      expect(await sync.run()).toMatchObject({ kind: 'applied' });
      expect(await endsAtOpa()).toEqual([tonight]);
    });

    it('keeps a restored version, and gives OPA the present grants after it', async () => {
      const restore = { version: 1, until: hoursFromNow(1), reason: 'the new one is slow' };
      const later = hoursFromNow(100);
      sync.snapshot = untilThen(later).snapshot();
      await sync.run();
      expect(await sync.run({ trigger: 'restore', restore })).toMatchObject({ kind: 'applied' });
      expect(await endsAtOpa()).toEqual([tonight]);
      sync.snapshot = untilThen(hoursFromNow(200)).snapshot();
      expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { restored: { version: 1 } } });

      sync.clock.advance(HOUR_SECONDS);
      expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { restored: null } });
      expect(await endsAtOpa()).toEqual([hoursFromNow(199)]);
    });
  });

  describe('while the file cannot be reached', () => {
    const GONE = new RulesTargetUnavailable('unreachable', 'the API server does not answer');
    const both = () => aSnapshot().user('ana').may('SELECT', ORDERS).user('bo').may('SELECT', 'hr.pay');
    const withoutAna = () => aSnapshot().user('ana').user('bo').may('SELECT', 'hr.pay');
    const failed = (kind: string, version: number) => ({
      ...{ kind: 'failed', failure: { reason: 'unreachable' } },
      outcomeElsewhere: { kind, publication: { version } },
    });
    beforeEach(async () => {
      sync = started(both().snapshot());
      await sync.run();
      sync.recorded('grant_revoked', 'grant', 1);
      sync.snapshot = withoutAna().snapshot();
    });

    it.each<[string, (target: FakeRulesTarget) => void]>([
      ['to be read', (target) => (target.failure = GONE)],
      ['to be written', (target) => (target.beforePublish = () => (target.failure = GONE))],
    ])('%s, publishes to OPA, and to the file once it is back', async (_, harm) => {
      harm(sync.target);

      expect(await sync.run()).toMatchObject(failed('applied', 2));

      expect(await endsAtOpa()).toHaveLength(1);
      expect((await sync.history.latest())?.diff.added.join()).not.toContain('hr');
      expect((await sync.history.summary()).lastRun?.targets).toMatchObject([{ failure: { reason: 'unreachable' } }]);
      sync.target.failure = GONE;
      expect(await sync.preview()).toMatchObject({ would: 'no_change', drift: false });
      expect(await sync.run()).toMatchObject(failed('no_change', 2));
      [sync.target.failure, sync.target.beforePublish] = [null, () => undefined];
      expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 2 } });
      expect(sync.target.text).toBe((await sync.history.latest())?.text);
      expect(sync.target.text).not.toContain('ana');
      expect(sync.audited.map(({ event }) => event)).not.toContain('drift_found');
    });

    it('publishes no first version until the file was read, so that the rules that it replaces are compared', async () => {
      sync = started(both().snapshot());
      sync.target.editByHand(compile(both().may('INSERT', 'hr.pay').snapshot()).text);
      sync.target.failure = GONE;
      const unreachable = { kind: 'failed', failure: { reason: 'unreachable' }, outcomeElsewhere: null };
      expect([await sync.run(), await sync.run()]).toMatchObject([unreachable, unreachable]);
      expect(await sync.history.highestVersion()).toBe(0);
      await expect(sync.preview()).rejects.toThrow(GONE);

      sync.target.failure = null;
      expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 1 } });
      expect(JSON.stringify((await sync.history.latest())?.access?.lost)).toContain('"people":["bo"]');
      expect(sync.audited.map(({ event }) => event)).toContain('drift_found');
    });

    it('publishes the first version where the file was read and cannot be written', async () => {
      sync = started(both().snapshot());
      sync.target.beforePublish = () => (sync.target.failure = GONE);
      expect(await sync.run()).toMatchObject(failed('applied', 1));
      [sync.target.failure, sync.target.beforePublish] = [null, () => undefined];
      expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 1 } });
      expect(sync.target.text).toContain('ana');
    });

    it('goes the steps of rules with masks, for a file that is back soon', async () => {
      sync.snapshot = both().user('cy').may('SELECT', 'hr.staff').seesMasked('hr.staff', 'pay', 'NULL').snapshot();
      sync.target.failure = GONE;
      expect(await sync.run()).toMatchObject({ outcomeElsewhere: { reasons: [{ code: 'masks-first' }] } });

      sync.target.failure = null;
      expect(await sync.run()).toMatchObject({ reasons: [{ code: 'masks-first' }], publication: { version: 2 } });
      expect(sync.target.text).toBe((await sync.history.latest())?.text);
    });

    it('publishes nothing once the lock is lost', async () => {
      sync.target.failure = GONE;
      sync.lock.confirm = () => Promise.reject(new LeaseLost());
      expect(await sync.run()).toMatchObject({ failure: { reason: 'lease-lost' }, outcomeElsewhere: null });
      expect(await sync.history.latest()).toMatchObject({ version: 1 });
    });

    it('does not wait for a late answer, and gives the file the version then', async () => {
      const read = sync.target.read.bind(sync.target);
      let answer = (): void => undefined;
      sync.target.read = async () => {
        await new Promise<void>((resolve) => (answer = resolve));
        return read();
      };
      const isConfirmed = new Promise<void>((resolve) => {
        const confirm = sync.history.confirm.bind(sync.history);
        sync.history.confirm = async (...confirmed) => confirm(...confirmed).finally(resolve);
      });

      const run = sync.run();
      await sync.timers.untilWaiting();
      sync.timers.advance(1_000);
      await isConfirmed;
      expect(await endsAtOpa()).toHaveLength(1);
      sync.target.read = read;
      answer();

      expect(await run).toMatchObject({ kind: 'applied', publication: { version: 2 } });
      expect(sync.target.text).not.toContain('ana');
    });
  });

  describe('with an unexplained change', () => {
    const opened = (expiresAt: Date) =>
      Array.from({ length: 60 }, (_, at) => `lake.a.t${at}`)
        .reduce((all, table) => all.may('INSERT', table, { expiresAt }), aSnapshot().user('ana'))
        .snapshot();
    const runHeld = async () => {
      const held = await sync.run();
      expect(held).toMatchObject({ kind: 'refused', reasons: [{ code: 'unexplained-change' }] });
      return held.kind === 'refused' ? (held.awaits ?? '') : '';
    };
    beforeEach(async () => {
      sync = started(aSnapshot().user('ana').snapshot());
      await sync.run();
      sync.snapshot = opened(hoursFromNow(6));
    });

    it("waits for an approval of the snapshot's hash, by which OPA decides", async () => {
      const awaits = await runHeld();
      expect(awaits).toBe(snapshotDigest(await sync.snapshots.read()));
      const { lastRun } = await sync.history.summary();
      expect(lastRun?.waiting?.hash).toBe(awaits);
      expect(lastRun?.waiting?.reasons[0]?.message).toContain(awaits);
      const { hash, ...preview } = await sync.preview();
      expect(preview).toMatchObject({ would: 'refused', awaits });

      await sync.history.approve(hash);
      expect(await runHeld()).toBe(awaits);
      await sync.history.approve(awaits);

      expect(await sync.preview()).toMatchObject({ would: 'publish', awaits: null });
      expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { hash, snapshotHash: awaits } });
    });

    it('waits anew where only the ends of the grants are others than the approved ones', async () => {
      const awaits = await runHeld();
      const { hash } = await sync.preview();
      await sync.history.approve(awaits);
      sync.snapshot = opened(hoursFromNow(600));

      expect(await sync.preview()).toMatchObject({ would: 'refused', hash });
      expect(await runHeld()).not.toBe(awaits);
      expect(await endsAtOpa()).toEqual([]);
    });

    it('of a database older than the file, waits for an approval of its snapshot', async () => {
      const elsewhere = started(aSnapshot().user('ana').may('SELECT', ORDERS).snapshot());
      await elsewhere.run();
      const { text, written } = elsewhere.target;
      Object.assign(sync.target, { text, written: { ...written, generation: 9 } });

      const held = await sync.run();

      const awaits = snapshotDigest(await sync.snapshots.read());
      expect(held).toMatchObject({ kind: 'refused', reasons: [{ code: 'database-behind' }], awaits });
      await sync.history.approve(awaits);
      expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 10, snapshotHash: awaits } });
    });
  });

  describe('with a database older than the file, which cannot be reached at first', () => {
    const GONE = new RulesTargetUnavailable('unreachable', 'the API server does not answer');
    const withAna = () => aSnapshot().user('ana').may('SELECT', ORDERS).user('bo').may('SELECT', 'hr.pay');
    const changed = () => withAna().may('INSERT', 'hr.pay').snapshot();
    let live: string | null;
    beforeEach(async () => {
      sync = started(withAna().snapshot());
      await sync.run();
      const saved = structuredClone({ rows: sync.history.rows, runs: sync.history.runs });
      sync.recorded('grant_revoked', 'grant', 1);
      sync.snapshot = aSnapshot().user('ana').user('bo').may('SELECT', 'hr.pay').snapshot();
      await sync.run();
      live = sync.target.text;
      expect(sync.target.written).toMatchObject({ generation: 2 });
      sync.history.rows.splice(0, Infinity, ...saved.rows);
      sync.history.runs.splice(0, Infinity, ...saved.runs);
      sync.audited.splice(0);
      sync.snapshot = changed();
      sync.target.failure = GONE;
    });

    it.each([1, 2])(
      'finds the version of the file after %i versions of its own, and waits for an approval',
      async (own) => {
        expect(await sync.run()).toMatchObject({ outcomeElsewhere: { kind: 'applied', publication: { version: 2 } } });
        if (own === 2) {
          sync.snapshot = withAna().may('DELETE', 'hr.pay').snapshot();
          await sync.run();
        }
        sync.target.failure = null;
        expect(await sync.preview()).toMatchObject({ would: 'refused', drift: false });
        const refused = await sync.run();

        expect(refused).toMatchObject({ kind: 'refused', reasons: [{ code: 'database-behind' }], publication: null });
        expect(sync.target.text).toBe(live);
        expect(await sync.history.newestAccess()).toBeNull();
        expect(await sync.history.latest()).toMatchObject({ version: own + 2, isFound: true, text: live });
        expect(await sync.run()).toMatchObject({ kind: 'refused', publication: null });
        expect(sync.audited.map(({ event }) => event)).not.toContain('drift_found');
        await sync.history.approve(refused.kind === 'refused' ? (refused.awaits ?? '') : '');
        expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: own + 3 } });
        expect(await sync.history.newestAccess()).toMatchObject({ version: own + 3 });
        expect(sync.target.text).toBe((await sync.history.latest())?.text);
        expect(await sync.run()).toMatchObject({ kind: 'no_change' });
      },
    );
  });

  it.each([2, 9])('gives OPA nothing before an approval where OPA has another version %i', async (version) => {
    const one = () => aSnapshot().user('ana').may('SELECT', ORDERS);
    sync = started(one().snapshot());
    await sync.run();
    sync.snapshot = one().user('bo').snapshot();
    await sync.run();
    const live = sync.target.text;

    await sync.service.recordFound({ version, hash: 'f0f0f0f0f0f0', text: '' });

    const found = Math.max(version, 3);
    expect(await sync.history.newestAccess()).toBeNull();
    const refused = await sync.run();
    expect(refused).toMatchObject({ kind: 'refused', publication: null, reasons: [{ code: 'database-behind' }, {}] });
    expect(sync.target.text).toBe(live);
    expect(sync.audited.map(({ event }) => event)).not.toContain('drift_found');
    await sync.history.approve(refused.kind === 'refused' ? (refused.awaits ?? '') : '');
    expect(await sync.run()).toMatchObject({ publication: { version: found + 1 } });
    expect(await sync.history.newestAccess()).toMatchObject({ version: found + 1 });
    await sync.service.recordFound({ version, hash: 'f0f0f0f0f0f0', text: '' });
    expect(await sync.history.newestAccess()).toMatchObject({ version: found + 1 });
  });

  describe('on a restore', () => {
    const restoring = (version: number) => ({
      trigger: 'restore' as const,
      restore: { version, until: hoursFromNow(2), reason: 'the new one is slow' },
    });
    const small = () => aSnapshot().user('ana').may('SELECT', ORDERS);
    beforeEach(async () => {
      sync = started(small().snapshot());
      await sync.run();
    });

    it('refuses a version that was found at a target, whose data for OPA nobody knows', async () => {
      const elsewhere = started(aSnapshot().user('ana').snapshot());
      await elsewhere.run();
      const { text, written } = elsewhere.target;
      Object.assign(sync.target, { text, written: { ...written, generation: 9 } });
      const refused = await sync.run();
      expect(refused).toMatchObject({ kind: 'refused', reasons: [{ code: 'database-behind' }] });
      await sync.history.approve(refused.kind === 'refused' ? (refused.awaits ?? '') : '');
      expect(await sync.run()).toMatchObject({ publication: { version: 10 } });

      expect(await sync.run(restoring(9))).toMatchObject({ kind: 'refused', reasons: [{ code: 'data-unknown' }] });

      expect(await sync.history.newestAccess()).toMatchObject({ version: 10 });
      const fileAlone = sync.history.rows.find(({ version }) => version === 10);
      if (fileAlone) fileAlone.restored = { ...restoring(9).restore, ended: null };
      expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 11, restored: null } });
    });

    it('refuses a version whose data for OPA this build cannot prove', async () => {
      sync.snapshot = small().may('INSERT', ORDERS).snapshot();
      await sync.run();
      sync.preparer.tasks.prove = () => [{ code: 'proof-difference', severity: 'error', message: 'ana may too much' }];
      expect(await sync.run(restoring(1))).toMatchObject({ kind: 'refused', reasons: [{ code: 'proof-difference' }] });
    });
  });

  it('does not begin a first step anew where only OPA gets a change', async () => {
    const masked = () => aSnapshot().user('ana').may('SELECT', ORDERS).seesMasked(ORDERS, 'card', 'NULL');
    sync = started(aSnapshot().user('ana').snapshot());
    await sync.run();
    sync.snapshot = masked().snapshot();
    expect(await sync.run()).toMatchObject({ reasons: [{ code: 'masks-first' }] });
    sync.clock.advance(200);
    sync.snapshot = masked().user('bo').snapshot();
    expect(await sync.run()).toMatchObject({ reasons: [{ code: 'masks-first' }], publication: { version: 3 } });

    sync.clock.advance(11);
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 4 } });
  });
});

describe('a refused run after a grant was replaced by one that gives the same', () => {
  it.each([
    ['with a file alone', false],
    ['with OPA beside it', true],
  ])('takes nothing away when the former one ends, %s', async (_, isForOpa) => {
    const first = aSnapshot().user('ana').user('bo').may('SELECT', 'hr.pay');
    const sync = new SyncUnderTest(first.snapshot(), undefined, [], isForOpa);
    const tonight = new Date(sync.clock.now().getTime() + HOUR_SECONDS * 1000);
    sync.snapshot = first.user('ana').may('SELECT', ORDERS, { expiresAt: tonight }).snapshot();
    await sync.run();
    sync.snapshot = first.may('SELECT', ORDERS).snapshot();
    const [, , replacement] = sync.snapshot.grants;
    if (replacement === undefined) throw new Error('no third grant');
    const subject = { type: 'grant' as const, id: '3', name: null };
    const details = grantDetails(replacement);
    sync.audited.push({ event: 'grant_created', actor: null, origin: null, subject, details });
    await sync.run();
    const before = sync.target.text;

    sync.clock.advance(HOUR_SECONDS);
    const broken = { code: 'guarantee-broken', severity: 'error', message: 'cy may read it' } as const;
    sync.preparer.tamper = (candidate) => ({ ...candidate, findings: [broken] });
    expect(await sync.run()).toMatchObject({ kind: 'refused' });

    expect(before).toContain('ana');
    expect(sync.target.text).toBe(before);
  });
});
