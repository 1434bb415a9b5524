import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ChartParts, Parts, RunningParts } from './parts/install.js';
import { withProgress } from './progress.js';
import { startCluster, type Cluster } from './running/cluster.js';
import { startEngine, type Mode } from './running/engine.js';
import { startIdentityProvider } from './running/identity-provider.js';
import { kubectlFor, type Kubectl } from './running/kubectl.js';
import type { Processes } from './running/processes.js';
import { newRealm, type Realm } from './running/realm.js';
import { Release } from './running/release.js';
import { RulesProjection } from './running/rules-projection.js';

/** Environment variable of the specs: the file with the addresses of all parts. */
export const STACK_FILE = 'GRANTLINE_STACK_FILE';

/** Everything that runs, as plain data: it is written into a file for other tools. */
export interface Stack {
  /** Of this run: logs, data, settings. */
  folder: string;
  issuer: string;
  realm: Realm;
  engines: Record<Mode, string>;
  cluster: { url: string; caFile: string; kubeconfig: string };
  /** What the engines' rules are read from. */
  rulesVolume: string;
  parts: RunningParts;
}

/** What specs find, of a stack with all parts. */
export type SpecStack = Stack & { parts: Parts };

/** What its processes need of it, and what specs of the chart start with. */
export type ClusterStack = Pick<Stack, 'folder' | 'cluster'> & { parts: Pick<Parts, 'kubernetes' | 'clusterTools'> };

/** The part of it on which the chart is tested; `npm run test:chart` starts no more. */
export type ChartStack = Pick<Stack, 'folder' | 'cluster'> & { parts: ChartParts };

export interface StartedStack {
  stack: Stack;
  file: string;
}

/**
 * Starts everything. The engines come last: each reads the provider's keys at its start, and needs a rules file then, which
 * is read from the ConfigMap of Grantline's chart. Both of them, one per authentication mode, read the same rules.
 */
export async function startStack(processes: Processes, parts: RunningParts): Promise<StartedStack> {
  const realm = newRealm();
  const rulesVolume = join(processes.folder, 'rules');
  const [issuer, cluster] = await processes.together(
    withProgress('Keycloak', () => startIdentityProvider(processes, parts, realm)),
    withProgress('Kubernetes API', async () => {
      const started = await startCluster(processes, parts);
      await Release.install(chartStack(processes, parts, started), 'default');
      await new RulesProjection(started.api, rulesVolume, processes.ending).start();
      return started;
    }),
  );
  const engine = (mode: Mode) =>
    withProgress(`Trino, ${mode}`, () => startEngine(processes, parts, { mode, issuer, rulesFolder: rulesVolume }));
  const [insecure, verified] = await processes.together(engine('insecure'), engine('verified'));

  const engines = { insecure, verified };
  const stack: Stack = { ...chartStack(processes, parts, cluster), parts, issuer, realm, engines, rulesVolume };
  return { stack, file: await writeStack(stack) };
}

/** @returns the file with the addresses for the specs */
export async function startChartStack(processes: Processes, parts: ChartParts): Promise<string> {
  const cluster = await withProgress('Kubernetes API', () => startCluster(processes, parts));
  return writeStack(chartStack(processes, parts, cluster));
}

/** What specs of the chart find, of a cluster of their own too. */
export function chartStack<P>(
  { folder }: Processes,
  parts: P,
  { api, kubeconfig }: Cluster,
): Pick<Stack, 'folder' | 'cluster'> & { parts: P } {
  return { folder, cluster: { url: api.url, caFile: api.caFile, kubeconfig }, parts };
}

async function writeStack(stack: ClusterStack): Promise<string> {
  const file = join(stack.folder, 'stack.json');
  await writeFile(file, JSON.stringify(stack, null, 2), { mode: 0o600 });
  return file;
}

/** The stack that was started for this process. */
export function openStack(env: NodeJS.ProcessEnv): SpecStack {
  const file = env[STACK_FILE];
  if (file === undefined) throw new Error(`${STACK_FILE} is not set: run this through npm run test:stack`);
  return JSON.parse(readFileSync(file, 'utf8')) as SpecStack;
}

export function kubectlOf(stack: ClusterStack): Kubectl {
  return kubectlFor(join(stack.parts.clusterTools, 'kubectl'), stack.cluster.kubeconfig);
}
