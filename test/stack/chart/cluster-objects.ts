import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { kubectlFor } from '../running/kubectl.js';
import type { ChartStack, ClusterStack } from '../stack.js';
import type { Manifest } from './manifest.js';

const run = promisify(execFile);

/** The API server's answers to objects: `stdout` one line each, `stderr` warnings. @throws when it refuses one */
export async function apply(
  stack: ClusterStack,
  objects: readonly Manifest[],
  ...more: string[]
): Promise<{ stdout: string; stderr: string }> {
  const file = join(stack.folder, `objects-${process.hrtime.bigint()}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  const { clusterTools } = stack.parts;
  const program = join(clusterTools, 'kubectl');
  const { kubeconfig } = stack.cluster;
  const args = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${kubeconfig}.cache`, 'apply', '--server-side'];
  return run(program, [...args, '--force-conflicts', '--validate=strict', '--filename', file, ...more], {
    maxBuffer: 2 ** 26,
    timeout: 60_000,
  });
}

export function dryRun(stack: ClusterStack, objects: readonly Manifest[]): Promise<{ stdout: string; stderr: string }> {
  return apply(stack, objects, '--dry-run=server');
}

/** So that the API server knows the foreign kinds that the chart can render. */
export async function defineForeignKinds(stack: ChartStack): Promise<void> {
  const kubectl = kubectlFor(join(stack.parts.clusterTools, 'kubectl'), stack.cluster.kubeconfig);
  await kubectl('apply', '--server-side', '--force-conflicts', '--filename', stack.parts.resourceDefinitions);
  await kubectl('wait', '--for=condition=Established', '--timeout=30s', '--filename', stack.parts.resourceDefinitions);
}

export function namespace(name: string, labels: Record<string, string> = {}): Manifest {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

/** Without the controller manager nothing creates the account `default`, and pods without an account are refused. */
export function serviceAccount(name: string, inNamespace: string): Manifest {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: inNamespace } };
}
