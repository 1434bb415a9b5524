import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SchedulerRegistry } from '@nestjs/schedule';
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { SYNC_JOB } from '../../../src/acl-sync/background-runs.service.js';
import { RulesPreparer } from '../../../src/acl-sync/domain/run-ports.js';
import { createApplication } from '../../../src/application.js';
import { AdmissionProof } from '../../../src/grants/domain/admission-ports.js';
import { createPino, PinoLog } from '../../../src/platform/log/pino-log.js';
import type { Timers } from '../../../src/kernel/clock.js';
import type { HealthReport } from '../../../src/platform/operations/health.js';
import { parseSettings } from '../../../src/platform/settings/settings-parser.js';
import { freshDatabase, type TestDatabase } from '../database/database.js';
import { prepareHere } from './prepared-here.js';
import { recordOutput, TEST_SECRET } from './secrets.js';
import { FakeTimers } from '../fakes/fake-timers.js';
import { TestClock } from '../fakes/test-clock.js';

export interface TestService {
  /** `http://127.0.0.1:port` of the API. */
  url: string;
  app: NestFastifyApplication;
  /** The operations port, which does not listen. */
  operations: FastifyInstance;
  clock: TestClock;
  database: TestDatabase;
  /** Every log line so far, as JSON text. */
  logLines: string[];
  /** The text of `/metrics`. */
  metrics(): Promise<string>;
  /** What alerts see of readiness: 0 or 1 of the service, and the parts that are degraded or down. */
  scraped(): Promise<{ ready: number; degraded: string[] }>;
  /** The answer of `/health/ready`. */
  ready(): Promise<{ status: number; body: HealthReport }>;
  stop(): Promise<void>;
}

/** Longer than a service waits: a slow machine takes more than three seconds to connect all requests of a race. */
const CONNECTING_MS = 30_000;

interface Circumstances {
  database?: TestDatabase;
  clock?: TestClock;
  timers?: Timers;
  work?: Timers;
  /** The text of a file that a setting names; by default there is none. */
  readFile?: (path: string) => string | null;
}

/**
 * The whole service in this process, its preparing of rules too, on a database and a folder of rules of its own; the environment
 * overrides the defaults. By its `work` timers, which stand still, no request takes any time: on a slow machine people would be refused.
 */
export async function startService(
  environment: Record<string, string> = {},
  { database, clock = new TestClock(), timers, work = new FakeTimers(), readFile }: Circumstances = {},
): Promise<TestService> {
  const own = database ?? (await freshDatabase());
  const rules = await mkdtemp(join(tmpdir(), 'rules-'));
  const given = {
    NODE_ENV: 'test',
    AUTH_SECRET_KEY: TEST_SECRET,
    AUTH_BCRYPT_COST: '4',
    ACL_SYNC_ENABLED: 'false',
    ACL_FILE_DIRECTORY: rules,
    DATABASE_URL: own.url,
    DATABASE_MIGRATION_URL: own.migrationUrl,
    DATABASE_POOL_MAX: '10',
    PORT: '0',
    OPERATIONS_PORT: '0',
    ...environment,
  };
  const { settings, problems } = parseSettings(given, readFile);
  if (problems.length > 0) throw new Error(problems.map(({ text }) => text).join('\n'));
  const logLines: string[] = [];
  recordOutput('log of a service', given, () => logLines.join(''));
  const log = new PinoLog(createPino(settings.log, { write: (line: string) => void logLines.push(line) }));
  const { app, operations } = await createApplication(settings, own, log, {
    clock,
    workTimers: work,
    ...(timers === undefined ? {} : { timers }),
  });
  stopSchedule(app);
  prepareHere(app.get(RulesPreparer), app.get(AdmissionProof));
  const pool = (app.get(DataSource).driver as PostgresDriver).master as Pool;
  pool.options.connectionTimeoutMillis = CONNECTING_MS;
  await app.listen(0, '127.0.0.1');
  const metrics = async (): Promise<string> => (await operations.inject('/metrics')).body;
  return {
    url: `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`,
    app,
    operations,
    clock,
    database: own,
    logLines,
    metrics,
    scraped: async () => {
      const text = await metrics();
      const parts = text.matchAll(/^grantline_degraded\{part="(.*)"\} 1$/gm);
      return {
        ready: Number(/^grantline_ready (\d)$/m.exec(text)?.[1]),
        degraded: Array.from(parts, ([, part = '']) => part).sort(),
      };
    },
    ready: async () => {
      const { statusCode, body } = await operations.inject('/health/ready');
      return { status: statusCode, body: JSON.parse(body) as HealthReport };
    },
    stop: async () => {
      app.getHttpServer().closeIdleConnections(); // the drain waits a second for clients to end theirs
      await app.close();
      await operations.close();
      await rm(rules, { recursive: true, force: true });
      if (database === undefined) await own.drop();
    },
  };
}

/** Jobs go by the machine's clock, between any two steps of a spec: only runs of ACL_SYNC_ENABLED go on, which a spec asks for. */
function stopSchedule(app: NestFastifyApplication): void {
  for (const [name, job] of app.get(SchedulerRegistry).getCronJobs()) if (name !== SYNC_JOB) void job.stop();
}

/** The same for the specs of a describe block: started before the first of them, stopped after the last, and empty until then. */
export function sharedService(...terms: Parameters<typeof startService>): TestService {
  const service = {} as TestService;
  beforeAll(async () => Object.assign(service, await startService(...terms)));
  afterAll(() => service.stop());
  return service;
}
