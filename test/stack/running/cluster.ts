import { join } from 'node:path';

import type { ClusterStack } from '../stack.js';
import { startApiServer, type ApiServer } from './api-server.js';
import { kubectlFor, writeKubeconfig } from './kubectl.js';
import type { Processes } from './processes.js';

const OBJECTS = join(import.meta.dirname, 'cluster.yaml');

export interface Cluster {
  api: ApiServer;
  /** The administrator's. */
  kubeconfig: string;
}

/** An API server with the namespaces into which the chart is installed, and nothing of the chart's. */
export async function startCluster(processes: Processes, parts: ClusterStack['parts']): Promise<Cluster> {
  const api = await startApiServer(processes, parts);
  const kubeconfig = await writeKubeconfig(join(processes.folder, 'kubernetes'), api);
  const kubectl = kubectlFor(join(parts.clusterTools, 'kubectl'), kubeconfig);
  await kubectl('create', '--filename', OBJECTS);
  return { api, kubeconfig };
}
