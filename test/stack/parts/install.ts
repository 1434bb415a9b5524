import { timed, withProgress } from '../progress.js';
import type { Processes } from '../running/processes.js';
import { cacheFolder } from './cache.js';
import { installChartTools, installCheckov, installGitopsDiff, installResourceDefinitions } from './chart-tools.js';
import { type ClientGenerators, installClientGenerators } from './client-generators.js';
import { installClusterTools } from './cluster-tools.js';
import { installConnectors } from './connectors.js';
import { installEngineOracle } from './engine-oracle.js';
import { javaHome } from './java.js';
import { installKeycloak } from './keycloak.js';
import { installKubernetes } from './kubernetes.js';
import { installSchemathesis } from './schemathesis.js';
import { installScimTester } from './scim-tester.js';
import { installTrino } from './trino.js';

/** What the chart is tested with. They are only read, as all parts. */
export interface ChartParts {
  kubernetes: string;
  clusterTools: string;
  chartTools: string;
  gitopsDiff: string;
  checkov: string;
  resourceDefinitions: string;
}

/** Folders of the installed parts. */
export interface Parts extends ChartParts {
  javaHome: string;
  trino: string;
  connectors: string;
  engineOracle: string;
  keycloak: string;
  schemathesis: string;
  scimTester: string;
  clientGenerators: ClientGenerators;
}

/** Installs what is missing. The long build keeps the processors busy while the others, one by one, wait for downloads. */
export async function install(processes: Processes, env: NodeJS.ProcessEnv): Promise<Parts> {
  const cache = cacheFolder(env);
  const java = javaHome(env);
  const engine = async () => {
    const trino = await withProgress('Trino, from its jars', () => installTrino(processes, cache, java));
    const connectors = () => installConnectors(processes, cache, java, trino);
    return { trino, connectors: await withProgress('Iceberg, Hive and PostgreSQL for Trino', connectors) };
  };
  const downloads = async () => ({
    ...(await engine()),
    engineOracle: await withProgress("the engine's access control", () => installEngineOracle(processes, cache, java)),
    keycloak: await withProgress('Keycloak', () => installKeycloak(processes, cache, java)),
    ...(await chartDownloads(processes, cache, java)),
    schemathesis: await withProgress('Schemathesis', () => installSchemathesis(processes, cache)),
    scimTester: await withProgress('scim2-tester', () => installScimTester(processes, cache)),
    clientGenerators: await withProgress('generators of clients', () => installClientGenerators(processes, cache)),
  });
  const [kubernetes, downloaded] = await processes.together(
    timed('kube-apiserver and etcd', () => installKubernetes(processes, cache, env)),
    downloads(),
  );
  return { javaHome: java, kubernetes, ...downloaded };
}

/** No more than the chart is tested with. */
export async function installForChart(processes: Processes, env: NodeJS.ProcessEnv): Promise<ChartParts> {
  const cache = cacheFolder(env);
  const [kubernetes, downloaded] = await processes.together(
    timed('kube-apiserver and etcd', () => installKubernetes(processes, cache, env)),
    chartDownloads(processes, cache, javaHome(env)),
  );
  return { kubernetes, ...downloaded };
}

async function chartDownloads(
  processes: Processes,
  cache: string,
  java: string,
): Promise<Omit<ChartParts, 'kubernetes'>> {
  return {
    clusterTools: await withProgress('kubectl, Helm 4 and Helm 3', () => installClusterTools(processes, cache, java)),
    chartTools: await withProgress('promtool, kube-score and helm-docs', () => installChartTools(processes, cache)),
    gitopsDiff: await withProgress('the comparison of Argo CD and Flux', () => installGitopsDiff(processes, cache)),
    checkov: await withProgress('checkov', () => installCheckov(processes, cache)),
    resourceDefinitions: await withProgress('definitions of foreign kinds', () =>
      installResourceDefinitions(processes, cache),
    ),
  };
}
