import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { Client } from 'pg';
import { ApiClient } from '../support/service/api-client.js';
import { type Finished, runGrantline } from '../support/service/grantline-process.js';
import { lockWaiters } from '../support/database/lock-waiters.js';
import { FILE, type SnapshotFiles, startSnapshotFiles } from '../support/snapshots/snapshot-files.js';
import { startService } from '../support/service/service.js';
import { until } from '../support/service/until.js';

const EMPTY = { version: 1, users: [], groups: [], grants: [], policies: [] };
const OTHER = {
  ...EMPTY,
  users: [{ name: 'alice' }],
  groups: [{ name: 'readers', members: ['alice'] }],
  grants: [{ resource: { catalog: 'sales' }, principal: { type: 'group', name: 'readers' }, privileges: ['SELECT'] }],
};
/** Of the test's own, which a commit waits for. */
const LOCK = 4_711;

describe('snapshot files, applied while others write and the database goes away', () => {
  let files: SnapshotFiles;
  let holder: Client;
  let count = 0;
  beforeAll(async () => {
    files = await startSnapshotFiles();
    holder = new Client(files.service.database.url);
    await holder.connect();
  });
  beforeEach(() => files.planned({ version: 1 }, { prune: true }));
  afterEach(() => holder.query('ROLLBACK'));
  afterAll(async () => {
    await holder.end();
    await files.stop();
  });

  const applying = async (file: object): Promise<Finished> => {
    const path = join(files.folder, `applied-${++count}`);
    await writeFile(path, JSON.stringify(file));
    return runGrantline(['snapshot', 'apply', path, '--prune'], files.environment);
  };
  const untilWaiting = (processes: number): Promise<void> =>
    until(async () => (await lockWaiters(holder)).length === processes);
  const terminate = async (): Promise<void> => {
    for (const pid of await lockWaiters(holder)) await holder.query('SELECT pg_terminate_backend($1)', [pid]);
  };

  it('contradict each other one after the other, and each says what it did', async () => {
    await holder.query('BEGIN; LOCK TABLE grants IN ROW EXCLUSIVE MODE');
    const both = [applying(FILE), applying(OTHER)];
    await untilWaiting(2);
    await holder.query('COMMIT');
    const ends = await Promise.all(both);

    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    const after = await files.exported();
    const isOtherLast = after.grants.length === 1;
    expect(after).toEqual(isOtherLast ? OTHER : FILE);
    const last = isOtherLast ? ends[1] : ends[0];
    expect(last?.stdout).toMatch(
      isOtherLast ? /^- grant SELECT on sales to engine etl-job/m : /^- grant SELECT on sales to group readers$/m,
    );
  });

  it.each([
    ['a group', 'policies', 'SELECT id FROM groups FOR SHARE'],
    ['an engine principal that is new', 'grants', 'LOCK TABLE policies IN ROW EXCLUSIVE MODE'],
  ])('and a writer about %s of %s wait for each other in one order', async (_, list, lock) => {
    await files.apply({ version: 1, groups: [{ name: 'readers', members: [] }] });
    const { body } = await files.admin.get('/api/admin/groups');
    const [group] = body?.['items'] as { id: number }[];
    const engine = { type: 'engine', name: `new-in-${list}` };
    const resource = { catalog: 'sales' };
    const written = {
      policies: { kind: 'deny', principal: { type: 'group', id: group?.id }, resource },
      grants: { principal: engine, resource, privileges: ['INSERT'] },
    }[list];
    await holder.query(`BEGIN; ${lock}`);
    const apply = files.apply({ version: 1, grants: [{ resource, principal: engine, privileges: ['SELECT'] }] });
    await untilWaiting(1);
    const writing = files.admin.post(`/api/admin/${list}`, written);
    await untilWaiting(2);
    await holder.query('COMMIT');

    expect(await apply).toEqual([`+ grant SELECT on sales to engine ${engine.name}`]);
    expect((await writing).status).toBe(201);
  });

  it('are exported as they were at one moment', async () => {
    await files.apply(FILE);
    await holder.query('BEGIN; LOCK TABLE group_members IN ACCESS EXCLUSIVE MODE');
    const exporting = files.exported();
    await untilWaiting(1);
    await holder.query(`UPDATE policies SET expression = 'false', description = 'other' WHERE description = 'law'`);
    await holder.query('COMMIT');
    expect(await exporting).toEqual(FILE);
  });

  it('leave nothing where the database goes away before the commit, and say so', async () => {
    await holder.query('BEGIN; LOCK TABLE grants IN ROW EXCLUSIVE MODE');
    const end = applying(FILE);
    await untilWaiting(1);
    await terminate();
    await holder.query('COMMIT');

    expect(await end).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(
        /^grantline: .*: the database is unavailable or too slow; nothing was changed\n$/m,
      ) as unknown,
    });
    expect(await files.exported()).toEqual(EMPTY);
  });

  describe('and lost in the commit', () => {
    let owner: Client;
    beforeEach(async () => {
      owner = new Client(files.service.database.migrationUrl);
      await owner.connect();
      await owner.query(`
        CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(${LOCK}); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER held AFTER INSERT ON groups DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION held()`);
      await holder.query('SELECT pg_advisory_lock($1)', [LOCK]);
    });
    afterEach(async () => {
      await owner.query('DROP FUNCTION held CASCADE');
      await owner.end();
    });
    const lost = async <T>(end: Promise<T>): Promise<T> => {
      await untilWaiting(1);
      await terminate();
      await holder.query('SELECT pg_advisory_unlock($1)', [LOCK]);
      return end;
    };

    it('say that the end is not known', async () => {
      expect(await lost(applying(FILE))).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('is not known: apply the file again') as unknown,
      });
      expect(await files.exported()).toEqual(EMPTY);
    });

    it('say so to a program that may send the file again', async () => {
      const { status, headers, body } = await lost(files.admin.post('/api/admin/snapshot', { snapshot: FILE }));
      expect({ status, body, retryAfter: headers.get('retry-after') }).toMatchObject({
        ...{ status: 503, retryAfter: '5' },
        body: { code: 'database_unavailable', detail: expect.stringContaining('is not known: send') as unknown },
      });
      expect(await files.exported()).toEqual(EMPTY);
    });
  });

  it('are refused as busy where a change under way does not end', async () => {
    const url = new URL(files.service.database.url);
    url.searchParams.set('options', '-c lock_timeout=100');
    const impatient = await startService({}, { database: { ...files.service.database, url: url.href } });
    await holder.query('BEGIN; LOCK TABLE grants IN ROW EXCLUSIVE MODE');
    const program = new ApiClient(impatient).as(files.admin.token);
    const { status, headers, body } = await program.post('/api/admin/snapshot', { snapshot: FILE });
    await impatient.stop();

    expect({ status, body, retryAfter: headers.get('retry-after') }).toMatchObject({
      ...{ status: 503, retryAfter: '5' },
      body: { code: 'busy', detail: expect.stringContaining('nothing was changed') as unknown },
    });
  });
});
