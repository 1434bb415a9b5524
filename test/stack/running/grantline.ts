import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { runGrantline } from '../../support/service/grantline-process.js';
import { recordOutput } from '../../support/service/secrets.js';
import type { PodTemplate } from '../chart/manifest.js';
import type { Family } from '../loop/statement.js';
import { kubectlOf, type Stack } from '../stack.js';
import type { Mode } from './engine.js';
import { startPod } from './pods.js';
import { startPostgres, type Postgres } from './postgres.js';
import type { Processes, Running } from './processes.js';
import { Release, type Runs } from './release.js';
import { until } from './until.js';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const START_DEADLINE = 120_000;

/** Catalogs of the engine, as the service accounts may use them. */
export const WRITABLE_CATALOG = 'memory';
export const READABLE_CATALOG = 'tpch';

/** Of the chart, for each kind of engine. */
const VALUE_SETS: Record<Mode, string> = { insecure: 'default', verified: 'verified-engine' };

export interface Grantline {
  url: string;
  /** The address of health and metrics. */
  operations: string;
  /** The address of its database, as the service's role. */
  database: string;
  /** Everything that it has logged so far. */
  log(): string;
  /** Runs one command in its pod, as `kubectl exec` does. @returns its standard output. @throws unless it ends with exit code 0 */
  execute(args: readonly string[], input?: string): Promise<string>;
  /** Makes a Job of the chart's CronJob, and runs its pod. @returns its log. @throws unless it ends with exit code 0 */
  syncByHand(): Promise<string>;
  stop(): Promise<void>;
}

interface How {
  name: string;
  mode: Mode;
  family: Family;
  runs?: Runs;
  /** Where it listens on the loopback interface; else on any port. */
  port?: number;
  /** What the service's pod gets in place of what the chart gave it. */
  environment?: (given: Record<string, string>, database: Postgres) => Promise<Record<string, string>>;
}

/**
 * Installs the chart for one of the run's engines, and runs its pods with what it rendered for them: first the migration's, on a
 * database of its own, then the service's.
 * @param name also the name of its folder and its logs; use each once
 */
export async function startGrantline(
  processes: Processes,
  stack: Stack,
  { name, mode, family, runs, port = 0, environment = (given) => Promise.resolve(given) }: How,
): Promise<Grantline> {
  const database = await startPostgres(processes, `${name}-database`);
  const settings = settingsFor(stack, mode, family);
  const release = await Release.install(stack, VALUE_SETS[mode], settings, secretsFor(stack, database), runs);
  const start = (template: PodTemplate) => startPod(stack, template, release.namespace);

  const migration = await start(release.pod('migration'));
  await complete(migration.args, migration.environment);
  const pod = await start(release.pod('api'));
  const given = await environment(pod.environment, database);
  const service = processes.launch({
    name,
    command: process.execPath,
    args: [join(ROOT, 'dist', 'main.js'), ...pod.args],
    // A pod has an address of its own; here it is any port of the loopback interface.
    env: { ...given, HOST: '127.0.0.1', PORT: String(port), OPERATIONS_PORT: '0' },
    ownEnvironment: true,
    cwd: ROOT,
  });
  recordOutput(name, pod.environment, () => readFileSync(service.log, 'utf8'));
  return {
    ...(await addressesOf(service)),
    database: database.url,
    log: () => readFileSync(service.log, 'utf8'),
    execute: (args, input) => complete(args, pod.environment, input),
    syncByHand: async () => {
      const job = await start(await jobFromCronJob(stack, release));
      return complete(job.args, job.environment);
    },
    stop: async () => {
      await service.stop();
      await database.process.stop();
    },
  };
}

function settingsFor(stack: Stack, mode: Mode, family: Family): Record<string, string | number> {
  const engine = new URL(stack.engines[mode]);
  return {
    AUTH_BCRYPT_COST: 10,
    SERVICE_QUERY_HOST: engine.hostname,
    SERVICE_QUERY_PORT: Number(engine.port),
    SERVICE_QUERY_HEADER_PREFIX: family,
    SERVICE_QUERY_JWT_ISSUER_URL: stack.issuer,
    SERVICE_QUERY_JWT_CLIENT_ID: stack.realm.grantline.id,
    ACL_WRITABLE_CATALOGS: WRITABLE_CATALOG,
    ACL_READABLE_CATALOGS: READABLE_CATALOG,
  };
}

/** As docs/install.md makes them. */
function secretsFor({ realm }: Stack, { url, migrationUrl }: Postgres): Record<string, Record<string, string>> {
  return {
    grantline: {
      'database-url': url,
      'auth-secret-key': randomBytes(48).toString('base64'),
      'client-secret': realm.grantline.secret,
    },
    'grantline-migration': { 'database-url': url, 'database-migration-url': migrationUrl },
  };
}

/** @returns the template of the Job's pod */
async function jobFromCronJob(stack: Stack, { namespace }: Release): Promise<PodTemplate> {
  const name = `acl-sync-by-hand-${randomBytes(3).toString('hex')}`;
  const from = '--from=cronjob/grantline-acl-sync';
  const text = await kubectlOf(stack)('create', 'job', `--namespace=${namespace}`, from, name, '--output=json');
  return (JSON.parse(text) as { spec: { template: PodTemplate } }).spec.template;
}

async function complete(args: readonly string[], environment: Record<string, string>, input = ''): Promise<string> {
  const { code, stdout, stderr } = await runGrantline(args, environment, input);
  if (code !== 0) throw new Error(`grantline ${args.join(' ')}: exit code ${code ?? 'unknown'}\n${stdout}${stderr}`);
  return stdout;
}

function addressesOf(service: Running): Promise<Pick<Grantline, 'url' | 'operations'>> {
  return until('Grantline listens', START_DEADLINE, () => {
    service.assertAlive();
    const log = readFileSync(service.log, 'utf8');
    const port = /listening on http:\/\/localhost:(\d+)/.exec(log)?.[1];
    const second = /"operations":"http:\/\/[^":]+:(\d+)"/.exec(log)?.[1];
    return Promise.resolve(
      port === undefined || second === undefined
        ? undefined
        : { url: `http://127.0.0.1:${port}`, operations: `http://127.0.0.1:${second}` },
    );
  });
}
