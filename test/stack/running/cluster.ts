import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { ChartParts } from '../parts/install.js';
import { startApiServer, type ApiServer } from './api-server.js';
import { kubectlFor, writeKubeconfig } from './kubectl.js';
import type { Processes } from './processes.js';

const OBJECTS = join(import.meta.dirname, 'cluster.yaml');

export interface Cluster {
  api: ApiServer;
  /** Of the service account that may get and patch the one ConfigMap. */
  tokenFile: string;
  /** The administrator's. */
  kubeconfig: string;
}

/** An API server with the objects that Grantline finds in a cluster, and a bound token of its service account. */
export async function startCluster(processes: Processes, parts: ChartParts): Promise<Cluster> {
  const api = await startApiServer(processes, parts);
  const folder = join(processes.folder, 'kubernetes');
  const kubeconfig = await writeKubeconfig(folder, api);
  const kubectl = kubectlFor(join(parts.clusterTools, 'kubectl'), kubeconfig);
  await kubectl('create', '--filename', OBJECTS);
  const tokenFile = join(folder, 'grantline.token');
  const token = await kubectl('create', 'token', 'grantline', '--namespace=portal', '--duration=24h');
  await writeFile(tokenFile, token, { mode: 0o600 });
  return { api, tokenFile, kubeconfig };
}
