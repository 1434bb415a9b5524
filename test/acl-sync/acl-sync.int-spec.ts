import { RulesTargetUnavailable } from '../../src/acl-sync/domain/rules-target.js';
import { LeaseLost } from '../../src/acl-sync/domain/run-ports.js';
import { checkRules } from '../../src/trino-rules/verify/check.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
const writersToo = () => readers().group('writers', ['bo']).may('INSERT', 'sales.eu.orders');

describe('a run of the sync', () => {
  let sync: SyncUnderTest;
  beforeEach(() => {
    sync = new SyncUnderTest(readers().snapshot());
  });

  const events = () => sync.audited.map(({ event }) => event);
  const metric = async (name: string) => (await sync.metrics.getSingleMetric(name)?.get())?.values ?? [];
  const down = new RulesTargetUnavailable('forbidden', 'configmap a/b: 403 Forbidden', 'audit-7');

  it('publishes, then finds nothing to change, then publishes what changed', async () => {
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 1 } });
    const first = sync.target.text;
    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 1 } });
    sync.snapshot = writersToo().snapshot();
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 2 } });

    expect(sync.target.former).toBe(first);
    expect(sync.target.published.map(({ generation }) => generation)).toEqual([1, 2]);
    expect(sync.log.at('info')).toEqual([
      'TRINO_ACL_SYNC_APPLIED',
      'TRINO_ACL_SYNC_NO_CHANGE',
      'TRINO_ACL_SYNC_APPLIED',
    ]);
    expect(events()).toEqual(['publication_applied', 'unexplained_change', 'publication_applied']);
    expect(await metric('grantline_acl_runs_total')).toMatchObject([
      { value: 2, labels: { outcome: 'applied', trigger: 'schedule' } },
      { value: 1, labels: { outcome: 'no_change' } },
    ]);
    expect(await metric('grantline_acl_bytes')).toMatchObject([{ value: sync.target.text?.length }]);
  });

  it.each<[string, SyncUnderTest['target']['written']]>([
    ['none', undefined],
    ['a former version', { generation: 1, hash: 'a1' }],
    ['other rules', { generation: 2, hash: 'a2' }],
  ])('writes the version again where the target names %s, by which an older database is told', async (_, written) => {
    await sync.run();
    sync.snapshot = writersToo().snapshot();
    await sync.run();
    const { text, former, written: named } = sync.target;
    sync.target.written = written;
    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 2 } });
    expect(sync.target).toMatchObject({ text, former, written: named });
    expect(sync.target.published).toHaveLength(3);
    await sync.run();
    expect(sync.target.published).toHaveLength(3);
  });

  it('leaves the version of another database, which is newer, where the text is the same', async () => {
    await sync.run();
    const newer = { generation: 7, hash: 'a7' };
    sync.target.written = newer;
    expect(await sync.run()).toMatchObject({ kind: 'no_change' });
    expect(sync.target.written).toEqual(newer);
  });

  it('compiles nothing while nothing has changed that rules follow from', async () => {
    await sync.run();
    expect(sync.preparer.prepared).toBe(1);
    sync.clock.advance(300);
    await sync.run();
    expect(sync.preparer.prepared).toBe(1);

    sync.preparer.compilerDigest = 'another build';
    await sync.run();
    expect(sync.preparer.prepared).toBe(2);
    sync.preparer.compilerDigest = 'a build';
    sync.target.editByHand('{}');
    expect(await sync.run()).toMatchObject({ kind: 'applied' });
    expect(sync.preparer.prepared).toBe(3);
    sync.snapshot = aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders').user('cy').snapshot();
    await sync.run();
    expect(sync.preparer.prepared).toBe(4);
  });

  it('compiles anew when a grant has ended by itself', async () => {
    const ends = new Date(sync.clock.now().getTime() + 60_000);
    sync.snapshot = readers().user('cy').may('SELECT', 'sales.us.orders', { expiresAt: ends }).snapshot();
    await sync.run();
    await sync.run();
    expect(sync.preparer.prepared).toBe(1);
    sync.clock.advance(60);
    expect(await sync.run()).toMatchObject({ kind: 'applied' });
    expect(sync.target.text).not.toContain('cy');
  });

  it('keeps the live rules when the proof finds a difference, and reports the smallest case', async () => {
    await sync.run();
    const live = sync.target.text;
    sync.snapshot = writersToo().snapshot();
    // As a compiler would that forgets what bo has through the second group.
    sync.preparer.tamper = (candidate, snapshot) => {
      const text = String(candidate.text).replaceAll('"SELECT","INSERT"', '"SELECT"');
      return { ...candidate, text, findings: checkRules(text, snapshot) };
    };

    const outcome = await sync.run();

    expect(outcome).toMatchObject({ kind: 'refused' });
    expect(sync.target.text).toBe(live);
    expect(sync.history.rows).toHaveLength(1);
    const [line] = sync.log.lines.filter(({ level }) => level === 'error');
    expect(line?.message).toBe('TRINO_ACL_SYNC_REFUSED');
    expect(JSON.stringify(line?.fields)).toMatch(/bo.*INSERT.*sales[.]eu[.]orders/);
  });

  it.each([1, 60])(
    'logs no SQL of a filter or a mask, of %s tables: neither published, refused nor waiting',
    async (tables) => {
      const story = readers();
      for (let i = 0; i < tables; i++) story.may('SELECT', `sales.eu.t${i}`);
      sync.snapshot = story.snapshot();
      await sync.run();
      const filtered = readers();
      for (let i = 0; i < tables; i++) {
        filtered
          .may('SELECT', `sales.eu.t${i}`)
          .seesOnly(`sales.eu.t${i}`, "ward = 'oncology'")
          .seesMasked(`sales.eu.t${i}`, 'card', "concat('oncology')");
      }
      sync.snapshot = filtered.snapshot();
      await sync.run();
      sync.preparer.tamper = (candidate, snapshot) => {
        const text = String(candidate.text).replaceAll(',"filter":"(ward = \'oncology\')"', '');
        return { ...candidate, text, findings: checkRules(text, snapshot) };
      };
      await sync.run();

      const lines = JSON.stringify(sync.log.lines);
      expect(lines).toContain('its SQL is not logged');
      expect(lines).not.toContain('oncology');
    },
  );

  it('records a repeated refusal once in the audit trail, with its start', async () => {
    sync.preparer.tamper = (candidate) => ({
      ...candidate,
      findings: [{ code: 'proof-difference', severity: 'error', message: 'bo may too much' }],
    });
    await sync.run();
    sync.clock.advance(300);
    await sync.run();

    expect(events()).toEqual(['publication_refused']);
    expect(await sync.history.summary()).toMatchObject({ refusedSince: new Date('2026-11-20T12:00:00.000Z') });
    expect(await metric('grantline_acl_refused_since_timestamp_seconds')).toMatchObject([
      { value: Date.UTC(2026, 10, 20, 12) / 1000 },
    ]);
    sync.preparer.tamper = (candidate) => candidate;
    await sync.run();
    expect(await metric('grantline_acl_refused_since_timestamp_seconds')).toMatchObject([{ value: 0 }]);
  });

  it('learns from the target how a run ended that died after writing', async () => {
    const outcome = await sync.run();
    if (outcome.kind !== 'applied') throw new Error('not applied');
    Object.assign(sync.history.rows[0] ?? {}, { state: 'begun' });

    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 1 } });
    expect(sync.history.rows).toHaveLength(1);
    expect(events()).not.toContain('drift_found');
  });

  it('refuses what its target cannot hold, and warns before that', async () => {
    await sync.run();
    const live = sync.target.text;
    sync.snapshot = writersToo().snapshot();
    sync.target.limitBytes = 1_000;
    expect(await sync.run()).toMatchObject({ kind: 'refused', reasons: [{ code: 'too-large' }] });
    expect(sync.target.text).toBe(live);

    sync.target.limitBytes = 2_200;
    expect(await sync.run()).toMatchObject({
      kind: 'applied',
      publication: { checks: [{ code: 'unexplained-change', severity: 'warning' }, { code: 'nearly-too-large' }] },
    });
  });

  it('writes nothing once the lock is lost', async () => {
    sync.lock.confirm = () => Promise.reject(new LeaseLost());

    expect(await sync.run()).toMatchObject({ kind: 'failed', failure: { reason: 'lease-lost' } });
    expect(sync.target.text).toBeNull();
    expect(sync.history.rows).toEqual([]);
  });

  it('records why the target defeated it', async () => {
    sync.target.failure = down;

    expect(await sync.run()).toMatchObject({ kind: 'failed', failure: { reason: 'forbidden', auditId: 'audit-7' } });

    expect(sync.log.lines).toMatchObject([
      { level: 'error', message: 'TRINO_ACL_SYNC_FAILED', fields: { reason: 'forbidden', audit_id: 'audit-7' } },
    ]);
    expect(sync.history.runs).toMatchObject([{ outcome: 'failed', reasons: [{ code: 'run-forbidden' }] }]);
  });

  it('reports an unexpected error only to the log', async () => {
    sync.preparer.tamper = () => {
      throw new Error('SELECT secret FROM somewhere');
    };

    const outcome = await sync.run();

    expect(outcome).toMatchObject({ kind: 'failed', failure: { reason: 'internal' } });
    expect(JSON.stringify([sync.history.runs, sync.audited])).not.toContain('secret');
    expect(sync.log.lines[0]?.fields['err']).toMatchObject({ message: 'SELECT secret FROM somewhere' });
  });

  it('reports an edit once, and overwrites it with the last proved rules even where the new ones are refused', async () => {
    await sync.run();
    const proved = sync.target.text;
    sync.target.editByHand(null);
    const found = sync.clock.now().getTime() / 1000;
    sync.preparer.tamper = (candidate) => ({
      ...candidate,
      findings: [{ code: 'proof-difference', severity: 'error', message: 'bo may too much' }],
    });
    await sync.run();
    sync.clock.advance(300);
    sync.target.failure = down;
    await sync.run();
    sync.target.failure = null;
    await sync.run();

    expect(events().filter((event) => event === 'drift_found')).toHaveLength(1);
    expect(sync.target.text).toBe(proved);
    expect((await sync.history.summary()).lastRun?.drift).toBeNull();
    expect(await metric('grantline_acl_drift_total')).toMatchObject([{ value: 1 }]);
    expect(await metric('grantline_acl_last_edit_timestamp_seconds')).toMatchObject([{ value: found }]);
  });
});
