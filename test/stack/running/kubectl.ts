import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { ApiServer } from './api-server.js';

const run = promisify(execFile);
const DEADLINE = 60_000;

/** A kubectl that is the administrator of the run's own cluster, and knows no other. @returns its standard output */
export type Kubectl = (...args: string[]) => Promise<string>;

export function kubectlFor(program: string, kubeconfig: string): Kubectl {
  return async (...args) => {
    const options = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${kubeconfig}.cache`];
    const { stdout } = await run(program, [...options, ...args], { timeout: DEADLINE, maxBuffer: 2 ** 26 });
    return stdout;
  };
}

/** @returns the path of a kubeconfig (JSON, which is YAML) for kubectl, Helm, and manual use */
export async function writeKubeconfig(folder: string, server: ApiServer): Promise<string> {
  const path = join(folder, 'administrator.kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'stack',
    clusters: [{ name: 'stack', cluster: { server: server.url, 'certificate-authority': server.caFile } }],
    users: [{ name: 'administrator', user: { token: server.administratorToken } }],
    contexts: [{ name: 'stack', context: { cluster: 'stack', user: 'administrator' } }],
  };
  await writeFile(path, JSON.stringify(config, null, 2), { mode: 0o600 });
  return path;
}
