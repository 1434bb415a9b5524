import { Client } from 'pg';
import { AuditService } from '../../src/audit/audit.service.js';
import { administrator } from '../support/service/administrator.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { startService, type TestService } from '../support/service/service.js';

const asOwner = (database: TestDatabase): TestDatabase => ({ ...database, url: database.migrationUrl });

describe.each([
  ['with a role that may only add to it', (database: TestDatabase) => database, 'permission denied'],
  ['with one role for everything', asOwner, 'audit_events is append-only'],
])('retention of the audit trail, %s', (_, roles, refusal) => {
  let database: TestDatabase;
  let service: TestService;
  let client: Client;
  beforeAll(async () => {
    database = roles(await freshDatabase());
    service = await startService({ AUDIT_RETENTION_DAYS: '30' }, { database });
    client = new Client(database.url);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await service.stop();
    await database.drop();
  });

  it('removes events older than the setting, and there is no other way to remove them', async () => {
    const admin = await administrator(service);
    for (const days of [400, 31, 29]) {
      await client.query(
        `INSERT INTO audit_events (at, event, details) VALUES (now() - make_interval(days => $1), 'logout', '{}')`,
        [days],
      );
    }

    await service.app.get(AuditService).removeExpired();

    const { body } = await admin.get('/api/admin/audit');
    const events = (body?.['items'] as { event: string }[]).map(({ event }) => event);
    expect(events.sort()).toEqual(['administrator_created', 'login_succeeded', 'logout']);
    await expect(client.query('DELETE FROM audit_events')).rejects.toThrow(refusal);
    await expect(client.query(`UPDATE audit_events SET event = 'logout'`)).rejects.toThrow(refusal);
  });
});
