import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { runGrantline } from '../../support/grantline-process.js';
import type { Family } from '../loop/statement.js';
import type { Stack } from '../stack.js';
import { RULES_CONFIGMAP, RULES_NAMESPACE } from './config-map.js';
import type { Mode } from './engine.js';
import type { Processes, Running } from './processes.js';
import { ENGINE_AUDIENCE } from './realm.js';
import { until } from './until.js';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const START_DEADLINE = 120_000;

/** Catalogs of the engine, as the service accounts may use them. */
export const WRITABLE_CATALOG = 'memory';
export const READABLE_CATALOG = 'tpch';

export interface Grantline {
  url: string;
  /** Everything that it has logged so far. */
  log(): string;
  /** Runs one command beside it. @returns its standard output. @throws unless it ends with exit code 0 */
  command(args: readonly string[], input?: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts the built service with an embedded database of its own. It publishes only when asked, so that each publication has
 * one cause.
 * @param name also the name of its folder and its logs; use each once
 */
export async function startGrantline(
  processes: Processes,
  stack: Stack,
  { name, mode, family }: { name: string; mode: Mode; family: Family },
): Promise<Grantline> {
  const env = environmentFor(stack, mode, family, join(processes.folder, name));
  const service = processes.launch({
    name,
    command: process.execPath,
    args: [join(ROOT, 'dist', 'main.js'), 'serve'],
    env,
    ownEnvironment: true,
    cwd: ROOT,
  });
  const url = await addressOf(service);
  return {
    url,
    log: () => readFileSync(service.log, 'utf8'),
    command: async (args, input) => {
      const { code, stdout, stderr } = await runGrantline(args, env, input);
      if (code !== 0) throw new Error(`grantline ${args.join(' ')}: exit code ${code ?? 'unknown'}\n${stderr}`);
      return stdout;
    },
    stop: () => service.stop(),
  };
}

function addressOf(service: Running): Promise<string> {
  return until('Grantline listens', START_DEADLINE, () => {
    service.assertAlive();
    const port = /listening on http:\/\/localhost:(\d+)/.exec(readFileSync(service.log, 'utf8'))?.[1];
    return Promise.resolve(port === undefined ? undefined : `http://127.0.0.1:${port}`);
  });
}

function environmentFor(stack: Stack, mode: Mode, family: Family, folder: string): Record<string, string> {
  const engine = new URL(stack.engines[mode]);
  return {
    DATA_DIR: folder,
    PORT: '0',
    OPERATIONS_PORT: '0',
    LOG_FORMAT: 'json',
    AUTH_BCRYPT_COST: '4',
    SERVICE_QUERY_HOST: engine.hostname,
    SERVICE_QUERY_PORT: engine.port,
    SERVICE_QUERY_HEADER_PREFIX: family,
    SERVICE_QUERY_JWT_ENABLED: 'true',
    SERVICE_QUERY_JWT_ISSUER_URL: stack.issuer,
    SERVICE_QUERY_JWT_CLIENT_ID: stack.realm.grantline.id,
    SERVICE_QUERY_JWT_CLIENT_SECRET: stack.realm.grantline.secret,
    ...(mode === 'verified'
      ? { SERVICE_QUERY_FORWARDED_PROTO: 'https', SERVICE_QUERY_JWT_AUDIENCE: ENGINE_AUDIENCE }
      : {}),
    ACL_SYNC_ENABLED: 'false',
    ACL_TARGET: 'configmap',
    ACL_CONFIGMAP_NAMESPACE: RULES_NAMESPACE,
    ACL_CONFIGMAP_NAME: RULES_CONFIGMAP,
    KUBERNETES_API_URL: stack.cluster.url,
    KUBERNETES_CA_FILE: stack.cluster.caFile,
    KUBERNETES_TOKEN_FILE: stack.cluster.tokenFile,
    ACL_WRITABLE_CATALOGS: WRITABLE_CATALOG,
    ACL_READABLE_CATALOGS: READABLE_CATALOG,
    ACL_METADATA_CATALOG: 'none',
  };
}
