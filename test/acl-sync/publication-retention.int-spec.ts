import { Client } from 'pg';
import { migrate } from '../../src/platform/database/migrator.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';

describe('published versions', () => {
  let database: TestDatabase;
  let service: Client;
  beforeAll(async () => {
    database = await freshDatabase();
    const acl = { retentionDays: 30, retentionVersions: 2 };
    await migrate(database.migrationUrl, database.url, { minRetention: { audit: { retentionDays: 1 }, acl } });
    service = new Client(database.url);
    await service.connect();
    for (const days of [90, 60, 50, 40, 1]) {
      await service.query(
        `INSERT INTO acl_publications (state, begun_at, published_at, text, hash, rules, bytes, trigger, snapshot_hash, snapshot,
           snapshot_at, diff, checks, is_withdrawal, compiler, trail_position)
         SELECT 'published', at, at, 'text', 'hash', 1, 4, 'route', 'hash', '{}', at, '{}', '[]', false, '', '0:0'
           FROM (SELECT now() - make_interval(days => $1)) AS moment (at)`,
        [days],
      );
    }
  });
  afterAll(async () => {
    await service.end();
    await database.drop();
  });

  const versions = async (): Promise<number[]> =>
    (await service.query<{ version: number }>('SELECT version FROM acl_publications ORDER BY version')).rows.map(
      ({ version }) => version,
    );

  it.each([
    'DELETE FROM acl_publications',
    `UPDATE acl_publications SET text = ''`,
    'UPDATE acl_publications SET triggered_by = NULL',
    'DELETE FROM acl_approvals',
    'UPDATE acl_retention SET least_versions = 1',
    'DELETE FROM acl_retention',
  ])('are not the service’s to change: %s', async (statement) => {
    await expect(service.query(statement)).rejects.toThrow('permission denied');
  });

  it('go by the owner’s function alone, and never what its minimum protects', async () => {
    const [first = 0, ...others] = await versions();

    await service.query('SELECT remove_past_publications($1)', [[first, ...others]]);

    // Of the three past 30 days before the newest two, all; the fourth is one of the newest two.
    expect(await versions()).toEqual(others.slice(-2));
  });
});
