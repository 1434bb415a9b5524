import { withProgress } from '../progress.js';
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
import { installOpa } from './opa.js';
import { installSchemathesis } from './schemathesis.js';
import { installScimTester } from './scim-tester.js';
import { installTrino } from './trino.js';

/** What runs: an engine, its identity provider and a cluster. */
export interface RunningParts {
  javaHome: string;
  trino: string;
  keycloak: string;
  kubernetes: string;
  clusterTools: string;
}

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
export interface Parts extends RunningParts, ChartParts {
  connectors: string;
  engineOracle: string;
  opa: string;
  schemathesis: string;
  scimTester: string;
  clientGenerators: ClientGenerators;
}

interface Ways {
  processes: Processes;
  cache: string;
  java: string;
  env: NodeJS.ProcessEnv;
}

/**
 * How each part is installed, and the time that this takes where it is missing, on idle cores and on busy ones. Parts that need the
 * same tool are installed one by one: two builds by Go do not fit into memory, and two runs of Maven share its folder.
 */
const INSTALLERS: {
  [Name in Exclude<keyof Parts, 'javaHome'>]: {
    label: string;
    by: 'go' | 'maven' | 'packages';
    install: (ways: Ways) => Promise<Parts[Name]>;
  };
} = {
  kubernetes: {
    ...{ label: 'kube-apiserver and etcd, 4 to 16 min', by: 'go' },
    install: ({ processes, cache, env }) => installKubernetes(processes, cache, env),
  },
  trino: {
    ...{ label: 'Trino, from its jars, 10 s to 3 min', by: 'maven' },
    install: ({ processes, cache, java }) => installTrino(processes, cache, java),
  },
  connectors: {
    ...{ label: 'Iceberg, Hive and PostgreSQL for Trino, 30 s to 2 min', by: 'maven' },
    install: async ({ processes, cache, java }) =>
      installConnectors(processes, cache, java, await installTrino(processes, cache, java)),
  },
  keycloak: {
    ...{ label: 'Keycloak, 30 s to 2 min', by: 'maven' },
    install: ({ processes, cache, java }) => installKeycloak(processes, cache, java),
  },
  clusterTools: {
    ...{ label: 'kubectl, Helm 4 and Helm 3, 5 s to 1 min', by: 'packages' },
    install: ({ processes, cache, java }) => installClusterTools(processes, cache, java),
  },
  engineOracle: {
    ...{ label: "the engine's access control, 10 s to 2 min", by: 'maven' },
    install: ({ processes, cache, java }) => installEngineOracle(processes, cache, java),
  },
  chartTools: {
    ...{ label: 'promtool, kube-score and helm-docs, 1 to 4 min', by: 'go' },
    install: ({ processes, cache }) => installChartTools(processes, cache),
  },
  gitopsDiff: {
    ...{ label: 'the comparison of Argo CD and Flux, 2 to 4 min', by: 'go' },
    install: ({ processes, cache }) => installGitopsDiff(processes, cache),
  },
  opa: {
    ...{ label: 'Open Policy Agent, 1 to 4 min', by: 'go' },
    install: ({ processes, cache }) => installOpa(processes, cache),
  },
  checkov: {
    ...{ label: 'checkov, 1 min', by: 'packages' },
    install: ({ processes, cache }) => installCheckov(processes, cache),
  },
  resourceDefinitions: {
    ...{ label: 'definitions of foreign kinds, 5 s', by: 'packages' },
    install: ({ processes, cache }) => installResourceDefinitions(processes, cache),
  },
  schemathesis: {
    ...{ label: 'Schemathesis, 10 s', by: 'packages' },
    install: ({ processes, cache }) => installSchemathesis(processes, cache),
  },
  scimTester: {
    ...{ label: 'scim2-tester, 10 s', by: 'packages' },
    install: ({ processes, cache }) => installScimTester(processes, cache),
  },
  clientGenerators: {
    ...{ label: 'generators of clients, 15 s', by: 'packages' },
    install: ({ processes, cache }) => installClientGenerators(processes, cache),
  },
};

type Name = keyof typeof INSTALLERS;

const RUNNING = ['kubernetes', 'trino', 'keycloak', 'clusterTools'] as const;
const CHART = ['kubernetes', 'clusterTools', 'chartTools', 'gitopsDiff', 'checkov', 'resourceDefinitions'] as const;

/** Installs all that is missing. */
export function install(processes: Processes, env: NodeJS.ProcessEnv): Promise<Parts> {
  return installed(Object.keys(INSTALLERS) as Name[], processes, env);
}

/** No more than runs. */
export function installForRun(processes: Processes, env: NodeJS.ProcessEnv): Promise<RunningParts> {
  return installed(RUNNING, processes, env);
}

/** No more than the chart is tested with. */
export function installForChart(processes: Processes, env: NodeJS.ProcessEnv): Promise<ChartParts> {
  return installed(CHART, processes, env);
}

async function installed<N extends Name>(
  names: readonly N[],
  processes: Processes,
  env: NodeJS.ProcessEnv,
): Promise<Pick<Parts, N | 'javaHome'>> {
  const java = javaHome(env);
  const ways = { processes, cache: cacheFolder(env), java, env };
  const parts: Partial<Record<keyof Parts, Parts[keyof Parts]>> = { javaHome: java };
  const oneByOne = async (by: string): Promise<void> => {
    for (const name of names) {
      const { label, install: make, by: tool } = INSTALLERS[name];
      if (tool === by) parts[name] = await withProgress(label, () => make(ways));
    }
  };
  await processes.together(oneByOne('go'), oneByOne('maven'), oneByOne('packages'));
  return parts as Pick<Parts, N | 'javaHome'>;
}
