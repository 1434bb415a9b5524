import { compile } from '../../src/trino-rules/compile/compile.js';
import { rulesText } from '../../src/trino-rules/compile/rules-text.js';
import { documentOf } from '../../src/trino-rules/document/rules-reader.js';
import type { TableRule } from '../../src/trino-rules/document/rules-document.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const GAUGE = 'grantline_acl_database_behind_since_timestamp_seconds';

/** A backup of the first version is restored after the second one, which took bo's access and gave cy some, was published. */
describe('a database that was restored from a backup', () => {
  const backup = () =>
    aSnapshot()
      .user('ana')
      .may('SELECT', 'sales.eu.orders')
      .user('bo')
      .may('SELECT', 'sales.eu.orders')
      .may('SELECT', 'sales.us.orders')
      .user('cy');
  const newer = () =>
    aSnapshot().user('ana').may('SELECT', 'sales.eu.orders').user('bo').user('cy').may('SELECT', 'sales.eu.orders');

  let sync: SyncUnderTest;
  let live: string | null;
  beforeEach(async () => {
    sync = new SyncUnderTest(backup().snapshot());
    await sync.run();
    const saved = structuredClone({ rows: sync.history.rows, runs: sync.history.runs });
    for (const snapshot of [backup().may('INSERT', 'sales.eu.orders').snapshot(), newer().snapshot()]) {
      sync.snapshot = snapshot;
      await sync.run();
    }
    live = sync.target.text;
    expect(sync.target.written).toMatchObject({ generation: 3 });
    sync.history.rows.splice(0, Infinity, ...saved.rows);
    sync.history.runs.splice(0, Infinity, ...saved.runs);
    sync.audited.splice(0);
    sync.snapshot = backup().snapshot();
  });

  const events = () => sync.audited.map(({ event }) => event);
  const gauge = async () => (await sync.metrics.getSingleMetric(GAUGE)?.get())?.values[0]?.value;
  const awaited = async () => {
    const outcome = await sync.run();
    return outcome.kind === 'refused' ? outcome.awaits : null;
  };

  it('does not publish its older rules: the version in force enters the history, and an approval is waited for', async () => {
    const outcome = await sync.run();

    expect(outcome).toMatchObject({ kind: 'refused', publication: null, reasons: [{ code: 'database-behind' }] });
    expect(JSON.stringify(outcome)).toContain('gained by bo: SELECT from sales.us.orders');
    expect(sync.target.text).toBe(live);
    expect(await sync.history.latest()).toMatchObject({ version: 3, text: live, isFound: true });
    expect(await sync.history.summary()).toMatchObject({
      databaseBehind: { version: 3, hash: sync.target.written?.hash },
      lastRun: { waiting: { reasons: [{ code: 'database-behind' }] }, drift: null },
    });
    expect(events()).toEqual(['database_behind', 'publication_refused']);
    expect(sync.log.at('error')).toContain('TRINO_ACL_DATABASE_BEHIND');
    expect(await gauge()).toBe(sync.clock.now().getTime() / 1000);

    await sync.run();
    expect(events()).toEqual(['database_behind', 'publication_refused']);
    expect(sync.target.text).toBe(live);
  });

  it('publishes what was approved, as a version above the one that was in force', async () => {
    const hash = (await awaited()) ?? '';
    await sync.history.approve(hash);

    expect(await sync.run()).toMatchObject({
      kind: 'applied',
      publication: { version: 4, hash, isFound: false, checks: [{ code: 'approved-change' }] },
    });
    expect(sync.target.written).toEqual({ generation: 4, hash });
    expect(await sync.history.newestAccess()).toMatchObject({ version: 4 });
    expect(await gauge()).toBe(0);
    expect(await sync.run()).toMatchObject({ kind: 'no_change' });
  });

  it('still takes away what is revoked, on top of the rules in force, and gives nothing with it', async () => {
    await sync.run();
    const { grants } = backup().snapshot();
    const [revoked] = grants;
    sync.snapshot = { ...backup().snapshot(), grants: grants.filter(({ id }) => id !== revoked?.id) };
    sync.recorded('grant_revoked', 'grant', revoked?.id ?? 0);

    const outcome = await sync.run();

    expect(outcome).toMatchObject({
      kind: 'refused',
      publication: { version: 4, isWithdrawal: true, checks: [{ code: 'closed-instead' }], access: { gainedInAll: 0 } },
    });
    expect(JSON.stringify(outcome)).toContain('"what":"SELECT from sales.eu.orders","people":["ana"],"others":0');
    expect(sync.target.published.at(-1)).toMatchObject({ generation: 4 });
    expect(await sync.run()).toMatchObject({ kind: 'refused', publication: null });
    expect(await gauge()).toBeGreaterThan(0);
    expect(await sync.history.newestAccess()).toBeNull();
  });

  it('closes the rules in force to an account that is deactivated, whatever it had when the backup was made', async () => {
    await sync.run();
    const { users, ...others } = backup().snapshot();
    const cy = users.find(({ name }) => name === 'cy');
    sync.snapshot = { ...others, users: users.map((user) => (user === cy ? { ...user, isActive: false } : user)) };
    sync.recorded('account_deactivated', 'user', cy?.id ?? 0);

    expect(await sync.run()).toMatchObject({ kind: 'refused', publication: { version: 4, isWithdrawal: true } });
    expect(JSON.stringify((await sync.history.latest())?.access?.lost)).toContain('"people":["cy"]');
  });

  it('needs no approval where the grants give the access in force, and measures later changes from there', async () => {
    sync.snapshot = newer().snapshot();

    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 4, isFound: false } });
    expect(await sync.history.summary()).toMatchObject({ databaseBehind: null });
    expect(sync.target.text).toBe(live);
    sync.snapshot = newer().user('di').may('SELECT', 'sales.eu.orders').snapshot();
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 5 } });
  });

  it('is noticed while a run prepares, too', async () => {
    const { written } = sync.target;
    Object.assign(sync.target, { written: { generation: 1, hash: 'a' }, text: 'by hand' });
    sync.preparer.tamper = (candidate) => {
      Object.assign(sync.target, { written, text: live });
      return candidate;
    };
    expect(await sync.run()).toMatchObject({ kind: 'refused', reasons: [{ code: 'database-behind' }] });
    expect(sync.target.text).toBe(live);
  });

  it('is not taken back to an older version by a restore', async () => {
    await sync.run();
    const until = new Date(sync.clock.now().getTime() + 3_600_000);
    const restore = { version: 1, until, reason: 'a test' };
    expect(await sync.run({ trigger: 'restore', restore })).toMatchObject({
      kind: 'refused',
      reasons: [{ code: 'restore-contradicted' }],
    });
    expect(sync.target.text).toBe(live);
  });
});

describe('a target that another database wrote, or that lost its annotations', () => {
  const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
  const others = JSON.stringify({ catalogs: [{ allow: 'all' }] });
  const foreign = { text: others, written: { generation: 9, hash: 'f00' } };

  it('is not emptied by the first run of a new installation', async () => {
    const sync = new SyncUnderTest(readers().snapshot());
    Object.assign(sync.target, foreign);
    expect(await sync.run()).toMatchObject({
      kind: 'refused',
      publication: null,
      reasons: [{ code: 'database-behind' }],
    });
    expect(sync.target.text).toBe(others);
    await sync.history.approve((await sync.history.summary()).lastRun?.waiting?.hash ?? '');
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 10 } });
  });

  it.each([
    ['has no section for tables, which everybody may read then', others],
    ['is no JSON', '{"catalogs": ['],
    ['is not there', null],
  ])('is never published again where its text %s: by no restore, and not over a repair by hand', async (_, text) => {
    const sync = new SyncUnderTest(readers().snapshot());
    Object.assign(sync.target, foreign, { text });
    await sync.run();
    const repaired = compile(readers().snapshot()).text;
    sync.target.editByHand(repaired);
    expect(await sync.run()).toMatchObject({
      kind: 'refused',
      publication: null,
      reasons: [{ code: 'database-behind' }, { code: 'rules-unreadable' }],
    });
    expect(sync.target.text).toBe(repaired);

    await sync.history.approve((await sync.history.summary()).lastRun?.waiting?.hash ?? '');
    await sync.run();
    const proved = sync.target.text;
    const until = new Date(sync.clock.now().getTime() + 3_600_000);
    expect(await sync.run({ trigger: 'restore', restore: { version: 9, until, reason: 'a test' } })).toMatchObject({
      kind: 'refused',
      reasons: [{ code: 'rules-unreadable' }],
    });
    expect(sync.target.text).toBe(proved);
  });

  it('is not restored where an open pattern gives more than the grants, to names that a narrower one closes', async () => {
    const sync = new SyncUnderTest(readers().snapshot());
    await sync.run();
    const document = documentOf(sync.target.text ?? '');
    const closed: TableRule = { user: 'ana', catalog: 'sales', schema: 'f.*|eu', privileges: [] };
    const open: TableRule = { user: 'ana', catalog: 'sales', privileges: ['SELECT'] };
    const text = rulesText({ ...document, tables: [closed, ...document.tables, open] });
    Object.assign(sync.target, foreign, { text });
    await sync.run();
    await sync.history.approve((await sync.history.summary()).lastRun?.waiting?.hash ?? '');
    await sync.run();
    const until = new Date(sync.clock.now().getTime() + 3_600_000);
    expect(await sync.run({ trigger: 'restore', restore: { version: 9, until, reason: 'a test' } })).toMatchObject({
      kind: 'refused',
      reasons: [{ code: 'restore-contradicted' }],
    });
  });

  it('keeps versions rising where only its number was raised', async () => {
    const sync = new SyncUnderTest(readers().snapshot());
    await sync.run();
    sync.target.written = { generation: 7, hash: 'f00' };
    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 1 } });
    sync.snapshot = readers().user('cy').may('SELECT', 'sales.us.orders').snapshot();
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 8 } });
  });

  it.each([
    ['an older version of this database, as after a restore of the cluster', { generation: 1, hash: 'f00' }],
    ['nothing, as after it was made anew', undefined],
  ])('is overwritten where it names %s', async (_, written) => {
    const sync = new SyncUnderTest(readers().snapshot());
    await sync.run();
    const proved = sync.target.text;
    Object.assign(sync.target, { text: others, written });
    expect(await sync.run()).toMatchObject({ kind: 'applied' });
    expect(sync.target.text).toBe(proved);
    expect(sync.audited.map(({ event }) => event)).toContain('drift_found');
  });
});
