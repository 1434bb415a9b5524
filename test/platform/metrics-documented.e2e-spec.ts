import { Registry } from 'prom-client';
import { createApplication } from '../../src/application.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { LogBook } from '../support/fakes/log-book.js';
import { rowsOf } from '../support/service/operations-guide.js';

describe('docs/operations.md', () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await freshDatabase()));
  afterAll(() => database.drop());

  /** With an engine, its tokens and the database's own clock, which have metrics too. */
  async function exposedMetrics(): Promise<{ name: string; type: string }[]> {
    const { settings } = parseSettings({
      AUTH_SECRET_KEY: 'only-for-tests-0123456789-abcdefghijklmnop',
      SERVICE_QUERY_HOST: '127.0.0.1',
      SERVICE_QUERY_JWT_ENABLED: 'true',
      SERVICE_QUERY_JWT_ISSUER_URL: 'http://127.0.0.1:9/realms/data',
      SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
      SERVICE_QUERY_JWT_CLIENT_SECRET: 'grantline-secret',
    });
    const { app, operations, close } = await createApplication(settings, database, new LogBook());
    const metrics = app.get(Registry).getMetricsAsArray();
    await close(AbortSignal.abort());
    await operations.close();
    return metrics.map(({ name, type }) => ({ name, type: String(type) }));
  }

  it('explains exactly the metrics that the service exposes', async () => {
    const own = (await exposedMetrics()).filter(({ name }) => name.startsWith('grantline_'));
    const explained = rowsOf('Metrics').map(({ name, cells }) => ({ name, type: cells[1] }));
    const byName = (a: { name: string }, b: { name: string }): number => a.name.localeCompare(b.name);
    expect(explained.sort(byName)).toEqual(own.sort(byName));
  });
});
