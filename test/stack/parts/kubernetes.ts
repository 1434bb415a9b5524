import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';

/** Both are pinned in kubernetes/go.mod, down to the last byte in go.sum; a new version is a change in both places. */
const KUBERNETES_VERSION = '1.36.3';
const KUBERNETES_COMMIT = '0f29094'; // only for /version to show
const MODULE = join(import.meta.dirname, 'kubernetes');

// Without these the server reports v0.0.0, and Helm's `kubeVersion` constraints and `Capabilities` are wrong.
const [MAJOR, MINOR] = KUBERNETES_VERSION.split('.');
const REPORTED = Object.entries({
  gitVersion: `v${KUBERNETES_VERSION}`,
  gitMajor: MAJOR,
  gitMinor: MINOR,
  gitCommit: KUBERNETES_COMMIT,
  gitTreeState: 'clean',
}).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value ?? ''}`);

const PROGRAMS = [
  { name: 'etcd', source: 'go.etcd.io/etcd/server/v3', flags: ['-s', '-w'] },
  { name: 'kube-apiserver', source: 'k8s.io/kubernetes/cmd/kube-apiserver', flags: ['-s', '-w', ...REPORTED] },
];

/**
 * A folder with `etcd` and `kube-apiserver`: the one that KUBEBUILDER_ASSETS names, or one built from the Go modules pinned
 * beside this file, once per machine: four minutes on two idle cores, a quarter of an hour on busy ones. 130 MB are kept;
 * Go's own caches (3 GB) may be cleared afterwards.
 */
export async function installKubernetes(processes: Processes, cache: string, env: NodeJS.ProcessEnv): Promise<string> {
  const given = env['KUBEBUILDER_ASSETS'];
  if (given !== undefined) {
    const missing = PROGRAMS.filter(({ name }) => !existsSync(join(given, name)));
    if (missing.length === 0) return given;
    throw new Error(`KUBEBUILDER_ASSETS is set, but ${given} has no ${missing.map(({ name }) => name).join(', no ')}`);
  }

  const names = PROGRAMS.map(({ name }) => name);
  return cached(cache, await cacheKey(), names, async (staging) => {
    for (const { name, source, flags } of PROGRAMS) {
      await processes.complete({
        name: `build-${name}`,
        command: 'go',
        args: ['build', '-C', MODULE, '-trimpath', '-ldflags', flags.join(' '), '-o', join(staging, name), source],
        env: { CGO_ENABLED: '0', GOFLAGS: '-mod=readonly', GOWORK: 'off' },
      });
    }
  });
}

/** What was built depends on the pins and on the machine, and on nothing else. */
async function cacheKey(): Promise<string> {
  const pins = createHash('sha256');
  for (const file of ['go.mod', 'go.sum']) pins.update(await readFile(join(MODULE, file)));
  const machine = arch() === 'x64' ? 'x86_64' : arch();
  return `kubernetes-${KUBERNETES_VERSION}-${platform()}-${machine}-${pins.digest('hex').slice(0, 12)}`;
}
