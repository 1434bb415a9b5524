import type { Restore } from '../../src/acl-sync/domain/restore.js';
import { storedSnapshot, provedData } from '../../src/acl-sync/domain/version-access.js';
import { compareData } from '../../src/trino-rules/diff/data-change.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { SyncUnderTest } from './sync-under-test.js';

const readers = () => aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders');
const writersToo = () => readers().group('writers', ['bo']).may('INSERT', 'sales.eu.orders');
const READS = 'SELECT from sales.eu.orders';
const WRITES = 'INSERT into sales.eu.orders';

describe('a run with OPA as the only target', () => {
  let sync: SyncUnderTest;
  beforeEach(async () => {
    sync = new SyncUnderTest(readers().snapshot(), undefined, 'opa');
    await sync.run();
  });

  /** What the newest version gives, by its data. */
  const given = async (): Promise<string[]> => {
    const { version = 0 } = (await sync.history.newestAccess()) ?? {};
    const stored = storedSnapshot((await sync.history.accessSnapshot(version)) ?? '');
    const data = stored === null ? '{}' : provedData(stored).text;
    const { gained } = compareData('{}', data);
    return gained.map(({ what, people }) => `${people.join()} ${what}`).filter((text) => text.includes(' sales.eu.'));
  };

  it('publishes without compiling: no text, no rules, the hash of the snapshot', async () => {
    const latest = await sync.history.latest();
    expect(latest).toMatchObject({ version: 1, text: null, rules: 0, diff: { added: [], removed: [] }, access: null });
    expect(latest?.hash).toBe(latest?.snapshotHash);
    expect(latest?.bytes).toBeGreaterThan(100);
    expect(sync.target.published).toEqual([]);
    expect(sync.log.at('info')).toContain('TRINO_ACL_SYNC_APPLIED');
    expect(await given()).toContain(`ana,bo ${READS}`);
    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 1 } });
    expect(sync.preparer.prepared).toBe(1);
  });

  it('tells who gains and loses by each version', async () => {
    sync.snapshot = writersToo().snapshot();
    expect(await sync.preview()).toMatchObject({
      would: 'publish',
      rules: 0,
      diff: { rules: { added: [], removed: [] }, access: { gained: [{ what: WRITES, people: ['bo'] }], lost: [] } },
    });
    expect(await sync.run()).toMatchObject({
      kind: 'applied',
      publication: { version: 2, access: { gained: [{ what: WRITES, people: ['bo'] }], gainedInAll: 1, lostInAll: 0 } },
    });
    sync.recorded('group_deleted', 'group', 2);
    sync.snapshot = readers().snapshot();
    expect(await sync.run()).toMatchObject({
      publication: { access: { gained: [], lost: [{ what: WRITES, people: ['bo'], others: 0 }], peopleLosing: 1 } },
    });
  });

  it('holds a large change that nothing explains, publishes what is revoked meanwhile, and the change once approved', async () => {
    const large = () =>
      Array.from({ length: 60 }, (_, at) => at).reduce((all, at) => all.may('INSERT', `lake.a.t${at}`), readers());
    sync.snapshot = large().snapshot();
    const refused = await sync.run();
    expect(refused).toMatchObject({ kind: 'refused', publication: null, reasons: [{ code: 'unexplained-change' }] });
    const awaits = refused.kind === 'refused' ? (refused.awaits ?? '') : '';
    expect(await given()).toEqual([`ana,bo ${READS}`]);

    sync.recorded('grant_revoked', 'grant', 1);
    const changed = large().snapshot();
    sync.snapshot = { ...changed, grants: changed.grants.filter(({ id }) => id !== 1) };
    const withdrawn = await sync.run();
    expect(withdrawn).toMatchObject({ kind: 'refused', publication: { version: 2, isWithdrawal: true, text: null } });
    expect(await given()).toEqual([]);

    const next = withdrawn.kind === 'refused' ? (withdrawn.awaits ?? '') : '';
    expect(next).not.toBe(awaits);
    await sync.history.approve(next);
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 3, snapshotHash: next } });
  });

  it('restores an older version from its snapshot, and keeps its hash', async () => {
    const first = (await sync.history.latest())?.hash;
    sync.snapshot = writersToo().snapshot();
    await sync.run();
    const until = new Date(sync.clock.now().getTime() + 3_600_000);
    const restore: Restore = { version: 1, until, reason: 'bo writes nonsense' };
    expect(await sync.run({ trigger: 'restore', restore })).toMatchObject({
      kind: 'applied',
      publication: {
        version: 3,
        hash: first,
        text: null,
        restored: { version: 1 },
        access: { lost: [{ what: WRITES }] },
      },
    });
    expect((await given()).filter((text) => text.includes('INSERT'))).toEqual([]);
    expect(await sync.run()).toMatchObject({ kind: 'no_change', publication: { version: 3 } });

    sync.clock.advance(3600);
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 4, restored: null } });
    expect(await given()).toContain(`bo ${WRITES}`);
  });

  it('restores no version that gives what is denied now', async () => {
    sync.recorded('grant_revoked', 'grant', 1);
    sync.snapshot = aSnapshot().group('readers', ['ana', 'bo']).snapshot();
    await sync.run();
    const until = new Date(sync.clock.now().getTime() + 3_600_000);
    expect(await sync.run({ trigger: 'restore', restore: { version: 1, until, reason: 'back' } })).toMatchObject({
      reasons: [{ code: 'restore-contradicted' }],
    });
    expect(await given()).toEqual([]);
  });

  it('publishes what no file can hold', async () => {
    const story = aSnapshot();
    for (const name of ['a$b', 'a[b]', 'a^b', 'a\\b']) story.user(name).may('SELECT', 'sales.eu.orders');
    sync.snapshot = story.snapshot();
    expect(await sync.run()).toMatchObject({ kind: 'applied' });
  });

  it('and then a file again, finds no edit by hand in the text that the file kept', async () => {
    const beside = new SyncUnderTest(aSnapshot().user('ana').snapshot(), undefined, [], true);
    await beside.run();
    sync.history.rows.splice(0, Infinity, ...beside.history.rows);
    expect(await sync.run()).toMatchObject({ kind: 'applied', publication: { version: 2, text: null } });
    beside.history.rows.splice(0, Infinity, ...sync.history.rows);
    beside.history.runs.push(...sync.history.runs);
    beside.snapshot = sync.snapshot;

    expect(await beside.preview()).toMatchObject({ would: 'publish', drift: false });
    expect(await beside.run()).toMatchObject({ kind: 'applied', publication: { version: 3, edit: null } });
    expect(beside.target.text).toContain('sales');
    expect(beside.audited.map(({ event }) => event)).not.toContain('drift_found');
  });
});
