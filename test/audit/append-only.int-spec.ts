import { Client } from 'pg';
import { freshDatabase, type TestDatabase } from '../support/database.js';

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

  it('loses only what is past retention, by the one function, and never the last day', async () => {
    await expect(service.query('SELECT remove_past_audit_events(0)')).rejects.toThrow('kept for a day at least');
    await expect(service.query('SELECT remove_past_audit_events(NULL)')).rejects.toThrow('kept for a day at least');
    expect((await service.query('SELECT remove_past_audit_events(30) AS removed')).rows).toEqual([{ removed: '1' }]);
    expect((await service.query('SELECT remove_past_audit_events(30) AS removed')).rows).toEqual([{ removed: '0' }]);
    expect((await service.query('SELECT * FROM audit_events')).rowCount).toBe(1);
    await expect(owner.query('DELETE FROM audit_events')).rejects.toThrow('audit_events is append-only');
  });
});
