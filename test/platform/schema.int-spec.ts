import { DataSource } from 'typeorm';
import { startService, type TestService } from '../support/service.js';

/** Constraints, defaults, indexes and comments are the migrations' alone: entities say which columns there are, and of which type. */
const OF_THE_MIGRATIONS =
  /^(ALTER TABLE \S+ (DROP CONSTRAINT |ALTER COLUMN \S+ DROP DEFAULT$)|DROP INDEX |COMMENT ON )/;

describe('the schema', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.stop());

  it('has, after the migrations, exactly the columns that the entities say', async () => {
    const { upQueries } = await service.app.get(DataSource).driver.createSchemaBuilder().log();

    expect(upQueries.map(({ query }) => query).filter((query) => !OF_THE_MIGRATIONS.test(query))).toEqual([]);
  });

  it('has a comment on every table', async () => {
    const source = service.app.get(DataSource);
    const tables = await source.query<{ name: string }[]>(
      `SELECT c.relname AS name FROM pg_class c WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
       AND obj_description(c.oid) IS NULL AND c.relname <> 'migrations'`,
    );

    expect(tables).toEqual([]);
  });
});
