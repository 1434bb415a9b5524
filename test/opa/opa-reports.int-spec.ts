import { DataSource } from 'typeorm';
import type { OpaInstance } from '../../src/acl-sync/domain/opa-status.js';
import { OpaReportsStore } from '../../src/acl-sync/opa-reports.store.js';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';

const at = (minute: number): Date => new Date(Date.UTC(2026, 10, 25, 12, minute));
const opa = (instance: string, minute: number, given: Partial<OpaInstance> = {}): OpaInstance => ({
  ...{ instance, revision: 'v1-0123456789ab', errors: [], seenAt: at(minute), requestedAt: null },
  ...given,
});

describe('the reports of OPA', () => {
  let database: TestDatabase;
  let source: DataSource;
  let store: OpaReportsStore;
  beforeEach(async () => {
    database = await freshDatabase();
    source = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    store = new OpaReportsStore(new DatabaseSession(source));
  });
  afterEach(async () => {
    await source.destroy();
    await database.drop();
  });

  const names = async () => (await store.read()).instances.map(({ instance }) => instance);

  it('are the last ones of each instance', async () => {
    const last = opa('b', 2, { revision: null, errors: ["a 'quoted' {text}, \\ and \u{1f600}"], requestedAt: at(1) });
    await store.record(opa('b', 1));
    await store.record(opa('a', 1));
    await store.record(last);

    expect(await store.read()).toEqual({ instances: [opa('a', 1), last], canary: null });
  });

  it('are of at most 100 instances: the longest unseen goes', async () => {
    for (let i = 0; i < 101; i++) await store.record(opa(`trino-${i}`, i));
    expect(await names()).toHaveLength(100);
    expect(await names()).not.toContain('trino-0');

    await store.record(opa('trino-1', 101));
    await store.record(opa('trino-0', 102));
    expect(await names()).not.toContain('trino-2');
    expect(await names()).toEqual(expect.arrayContaining(['trino-0', 'trino-1']));
  });

  it('are of a day', async () => {
    await store.record(opa('a', 0));
    await store.record(opa('b', 24 * 60));
    expect(await names()).toEqual(['a', 'b']);
    await store.record(opa('b', 24 * 60 + 1));
    expect(await names()).toEqual(['b']);
  });

  it('come from many instances at once', async () => {
    await Promise.all(Array.from({ length: 150 }, (_, i) => store.record(opa(`trino-${i}`, i % 7))));
    expect(await names()).toHaveLength(100);
  });

  it('have the last answer of the engine beside them', async () => {
    await store.recordCanary({ answer: 'v1-0123456789ab', at: at(1) });
    await store.recordCanary({ answer: null, at: at(2) });
    expect((await store.read()).canary).toEqual({ answer: null, at: at(2) });
  });
});
