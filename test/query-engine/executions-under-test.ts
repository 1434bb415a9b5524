import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { Registry } from 'prom-client';
import { DataSource } from 'typeorm';
import { IdSource } from '../../src/kernel/ids.js';
import { DatabaseSession } from '../../src/platform/database/database-session.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { sessionFor } from '../../src/query-engine/domain/engine-session.js';
import type { Query } from '../../src/query-engine/domain/query.js';
import { QueryStore } from '../../src/query-engine/query.store.js';
import { TrinoStatementClient } from '../../src/query-engine/trino-statement-client.js';
import { RowLoop } from '../../src/query-engine/domain/row-loop.js';
import { QueryMetrics } from '../../src/query-engine/query.metrics.js';
import { QueryExecutions } from '../../src/query-engine/query-executions.service.js';
import type { RowsResult } from '../../src/query-engine/domain/held-page.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { FakeServiceTokenSource } from '../support/fakes/fake-service-token-source.js';
import { FakeTimers } from '../support/fakes/fake-timers.js';
import { column, FakeTrino } from '../support/fakes/fake-trino.js';
import { FIXED_RANDOM } from '../support/fakes/fixed-random.js';
import { LogBook } from '../support/fakes/log-book.js';
import { TEST_SECRET } from '../support/service/secrets.js';
import { TestClock } from '../support/fakes/test-clock.js';

const LOOP = new RowLoop(readFileSync('dist/row-loop.wasm'));

export const NUMBERS = [column('n', 'integer')];

/** Two replicas that execute ana's queries, on one database and one engine. */
export class ExecutionsUnderTest {
  clock = new TestClock();
  timers = new FakeTimers();
  log = new LogBook();
  one: QueryExecutions;
  other: QueryExecutions;
  readonly store: QueryStore;
  private readonly settings;

  private constructor(
    readonly engine: FakeTrino,
    readonly database: TestDatabase,
    readonly source: DataSource,
    readonly client: TrinoStatementClient,
    limits: Readonly<Record<string, string>>,
  ) {
    this.settings = parseSettings({ AUTH_SECRET_KEY: TEST_SECRET, ...limits }).settings;
    this.store = new QueryStore(new DatabaseSession(source));
    [this.one, this.other] = [this.replica(), this.replica()];
  }

  /** @param limits settings other than their defaults */
  static async start(limits: Readonly<Record<string, string>> = {}): Promise<ExecutionsUnderTest> {
    const engine = new FakeTrino();
    const origin = await engine.listen();
    const database = await freshDatabase();
    const source = await new DataSource({ type: 'postgres', url: database.url }).initialize();
    await source.query(`INSERT INTO principal_names (name, holder, claimed_at) VALUES ('ana', 'account', now())`);
    await source.query(
      `INSERT INTO users (username, email, password_hash, role, is_active, created_at)
       VALUES ('ana', 'ana@example.org', '$2b$04$' || repeat('a', 53), 'user', true, now())`,
    );
    const address = {
      origin,
      path: '',
      headers: {},
      password: null,
      user: 'sa',
      headerPrefix: 'X-Query',
      caFile: null,
      forwardedProto: null,
      compression: 'none',
      maxPageBytes: 2 ** 25,
    } as const;
    const tokens = new FakeServiceTokenSource();
    const client = new TrinoStatementClient(
      address,
      tokens,
      new FakeTimers(),
      FIXED_RANDOM,
      new TestClock(),
      new LogBook(),
      LOOP,
    );
    return new ExecutionsUnderTest(engine, database, source, client, limits);
  }

  async stop(): Promise<void> {
    this.client.close();
    await this.source.destroy();
    await this.database.drop();
    await this.engine.close();
  }

  /** For each test: no query yet, `SELECT n` with five rows, time at its start, and two replicas that execute nothing. */
  async renew(): Promise<void> {
    await this.source.query('DELETE FROM queries');
    await this.source.query('UPDATE users SET is_active = true');
    this.engine.requests.length = 0;
    this.engine.answers('SELECT n', { columns: NUMBERS, data: [[1], [2], [3]] }, {}, { data: [[4], [5]] });
    this.clock = new TestClock();
    this.timers = new FakeTimers();
    this.log = new LogBook();
    [this.one, this.other] = [this.replica(), this.replica()];
  }

  /** Submits `sql` through the first replica, and returns the id of the query. */
  async begun(sql: string, meanwhile = (): Promise<void> => Promise.resolve()): Promise<string> {
    const id = randomUUID();
    const times = { createdAt: this.clock.now(), deadlineAt: this.deadlineAt() };
    const query = { id, userId: 1, runAs: 'ana', sql, catalog: null, schema: null, traceToken: 't', ...times };
    const { page } = await this.client.submit(sql, sessionFor('ana'), { deadline: Infinity });
    await meanwhile();
    await this.one.begin(query, page);
    return id;
  }

  /** One tick of that replica, with all that it starts. */
  async tick(replica: QueryExecutions): Promise<void> {
    await replica.tick();
    await replica.untilIdle();
  }

  /** The rows as a reader of that replica gets them. */
  async rows(replica: QueryExecutions, id: string, from: number, limit: number): Promise<RowsRead> {
    const outcome = await replica.rows(id, from, limit);
    if (outcome?.kind !== 'page') return outcome;
    const { columns, next } = outcome.page;
    const lines = Buffer.concat([...outcome.page.pieces('ndjson', LOOP)])
      .toString()
      .split('\n')
      .slice(0, -1);
    const rows = lines.map((line) => JSON.parse(line) as unknown[]);
    outcome.page.confirm();
    outcome.page.release();
    return { kind: 'page', page: { columns, rows, next } };
  }

  /** `run` while no query of the database can be read or written. */
  async withoutDatabase(run: () => Promise<void>): Promise<void> {
    const owner = await new DataSource({ type: 'postgres', url: this.database.migrationUrl }).initialize();
    await owner.query('ALTER TABLE queries RENAME TO away');
    await run();
    await owner.query('ALTER TABLE away RENAME TO queries');
    await owner.destroy();
  }

  deadlineAt(): Date {
    return new Date(this.clock.now().getTime() + 3_600_000);
  }

  async find(id: string): Promise<Query | null> {
    return this.store.find(1, id);
  }

  /** The last parts of the paths that the engine was asked for. */
  asked(method: string): string[] {
    const requests = this.engine.requests.filter((request) => request.method === method);
    return requests.map(({ path }) => path.split('/').at(-1) ?? '');
  }

  /** As if the replicas of all queries had died a while ago. */
  async expireLeases(): Promise<void> {
    await this.source.query(`UPDATE queries SET lease_until = now() - interval '1 s' WHERE finished_at IS NULL`);
  }

  private replica(): QueryExecutions {
    const { client, store, timers, clock, log, settings } = this;
    const metrics = new QueryMetrics(new Registry());
    return new QueryExecutions(client, store, timers, clock, log, settings, new IdSource(), metrics);
  }
}

/** What a reader gets, read to its end and released; or why there is nothing. */
export type RowsRead =
  | { kind: 'page'; page: { columns: unknown; rows: unknown[]; next: number | null } }
  | Exclude<RowsResult, { kind: 'page' }>
  | null;

/** The values of the page, or why there is none. Null: the query has ended. */
export const values = (read: RowsRead): unknown =>
  read?.kind === 'page' ? read.page.rows.flat() : (read?.kind ?? null);
