import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { migrate } from '../../src/platform/database/migrator.js';
import { asSuperuser, freshDatabase, type TestDatabase } from '../support/database/database.js';

const keeping = (retentionDays: number) => ({
  audit: { retentionDays },
  acl: { retentionDays: 1, retentionVersions: 1 },
});

describe('the audit trail', () => {
  let database: TestDatabase;
  let service: Client;
  let owner: Client;
  beforeAll(async () => {
    database = await freshDatabase();
    service = new Client(database.url);
    owner = new Client(database.migrationUrl);
    await Promise.all([service.connect(), owner.connect()]);
    for (const at of ['2026-01-01', 'now']) {
      await service.query(`INSERT INTO audit_events (at, event, details) VALUES ($1, 'login_failed', '{}')`, [at]);
    }
  });
  afterAll(async () => {
    await Promise.all([service.end(), owner.end()]);
    await database.drop();
  });

  it.each([`UPDATE audit_events SET event = 'logout'`, 'DELETE FROM audit_events', 'TRUNCATE audit_events'])(
    'takes no %s from the service, nor from the owner',
    async (statement) => {
      await expect(service.query(statement)).rejects.toThrow('permission denied for table audit_events');
      await expect(owner.query(statement)).rejects.toThrow('audit_events is append-only');
    },
  );

  it('cannot be opened by a setting that the service makes up', async () => {
    await service.query(`SET grantline.audit_retention = 'running'`);
    await expect(service.query('DELETE FROM audit_events')).rejects.toThrow('permission denied');
    await expect(service.query(`ALTER TABLE audit_events DISABLE TRIGGER ALL`)).rejects.toThrow('must be owner');
  });

  it('keeps events for the minimum that the owner has set, whatever the service requests', async () => {
    await migrate(database.migrationUrl, database.url, { minRetention: keeping(30) });
    await expect(service.query('SELECT remove_past_audit_events(29)')).rejects.toThrow('kept for 30 day(s) at least');
    for (const statement of ['UPDATE audit_retention SET least_days = 1', 'DELETE FROM audit_retention']) {
      await expect(service.query(statement)).rejects.toThrow('permission denied for table audit_retention');
    }
    await expect(owner.query('DELETE FROM audit_events')).rejects.toThrow('audit_events is append-only');
    await migrate(database.migrationUrl, database.url, { minRetention: keeping(1) });
  });

  it('is emptied by no other role of the database, which may run nothing with the rights of the owner', async () => {
    const role = `reporting_${randomUUID().replaceAll('-', '')}`;
    await asSuperuser(`CREATE ROLE ${role} LOGIN PASSWORD 'only-for-tests'`);
    const url = Object.assign(new URL(database.url), { username: role, password: 'only-for-tests' });
    const stranger = new Client(url.href);
    await stranger.connect();
    try {
      await expect(stranger.query('SELECT remove_past_audit_events(1)')).rejects.toThrow(
        'permission denied for function',
      );
      const { rows } = await stranger.query(
        `SELECT oid::regprocedure::text AS name FROM pg_proc
          WHERE prosecdef AND pronamespace = 'public'::regnamespace AND has_function_privilege(oid, 'execute')`,
      );
      expect(rows).toEqual([]);
    } finally {
      await stranger.end();
      await asSuperuser(`DROP ROLE ${role}`);
    }
  });

  it('loses only what is past retention, by the one function, and never the last day', async () => {
    await expect(service.query('SELECT remove_past_audit_events(0)')).rejects.toThrow('kept for 1 day(s) at least');
    await expect(service.query('SELECT remove_past_audit_events(NULL)')).rejects.toThrow('kept for 1 day(s) at least');
    expect((await service.query('SELECT remove_past_audit_events(30) AS removed')).rows).toEqual([{ removed: '1' }]);
    expect((await service.query('SELECT remove_past_audit_events(30) AS removed')).rows).toEqual([{ removed: '0' }]);
    expect((await service.query('SELECT * FROM audit_events')).rowCount).toBe(1);
    await expect(owner.query('DELETE FROM audit_events')).rejects.toThrow('audit_events is append-only');
  });
});
