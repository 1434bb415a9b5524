import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { apply } from '../chart/cluster-objects.js';
import type { Container, Manifest, PodTemplate, Volume } from '../chart/manifest.js';
import type { ClusterStack } from '../stack.js';
import { kubectlFor, type Kubectl } from './kubectl.js';

/** Where Grantline looks for its token by default, as every client in a pod does. */
const TOKEN_MOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How a pod's process begins. What is not rendered is not there. */
export interface PodProcess {
  /** Empty: the image's own entry point. */
  command: string[];
  args: string[];
  environment: Record<string, string>;
}

/**
 * Stands in for the kubelet: makes the pod on the API server, and gives its container `grantline` (else the first one) the
 * environment, the files of its Secrets and a token that is bound to it. Files lie below the run's folder, and the settings
 * that name them are moved along.
 */
export async function startPod(stack: ClusterStack, template: PodTemplate, namespace: string): Promise<PodProcess> {
  const { containers, volumes = [] } = template.spec;
  const container = containers.find(({ name }) => name === 'grantline') ?? containers[0];
  if (container === undefined) throw new Error('a pod without a container');
  const name = `run-${randomBytes(5).toString('hex')}`;
  const { labels, annotations = {} } = template.metadata;
  const pod: Manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels, annotations },
    spec: template.spec,
  };
  await apply(stack, [pod]);

  const kubectl = kubectlFor(join(stack.parts.clusterTools, 'kubectl'), stack.cluster.kubeconfig);
  const inNamespace: Kubectl = (...args) => kubectl(...args, `--namespace=${namespace}`);
  const folder = join(stack.folder, 'pods', name);
  const moved = new Map<string, string>();
  for (const { name: volume, mountPath } of container.volumeMounts ?? []) {
    const found = volumes.find((candidate) => candidate.name === volume);
    if (found === undefined) throw new Error(`${volume} is mounted, and no volume of the pod`);
    moved.set(mountPath, join(folder, volume));
    await mkdir(join(folder, volume), { recursive: true });
    for (const [path, content] of await filesOf(found, { stack, inNamespace, pod: name, template })) {
      await writeFile(join(folder, volume, path), content, { mode: 0o600 });
    }
  }
  return {
    command: container.command ?? [],
    args: container.args ?? [],
    environment: { ...environmentOf(container, moved), ...byKubernetes(stack, moved) },
  };
}

interface Placing {
  stack: ClusterStack;
  inNamespace: Kubectl;
  pod: string;
  template: PodTemplate;
}

async function filesOf(volume: Volume, placing: Placing): Promise<[string, Buffer | string][]> {
  const { secret, configMap: shown, projected } = volume;
  const { stack, inNamespace, pod, template } = placing;
  const files: [string, Buffer | string][] = [];
  const data = async (kind: string, name: string) => {
    const text = await inNamespace('get', kind, name, '--output=json');
    return (JSON.parse(text) as { data: Record<string, string> }).data;
  };
  if (secret !== undefined) {
    const values = await data('secret', secret.secretName);
    for (const { key, path } of secret.items) files.push([path, Buffer.from(valueOf(values, key), 'base64')]);
  }
  if (shown !== undefined) {
    const values = await data('configmap', shown.name);
    for (const { key, path } of shown.items) files.push([path, valueOf(values, key)]);
  }
  for (const { serviceAccountToken, configMap } of projected?.sources ?? []) {
    if (serviceAccountToken !== undefined) {
      const account = template.spec.serviceAccountName ?? 'default';
      const bound = ['--bound-object-kind=Pod', `--bound-object-name=${pod}`];
      files.push([serviceAccountToken.path, await inNamespace('create', 'token', account, ...bound)]);
    }
    // The controller manager puts it into every namespace; none runs here.
    if (configMap?.name === 'kube-root-ca.crt') files.push(['ca.crt', await readFile(stack.cluster.caFile)]);
  }
  return files;
}

function valueOf(data: Record<string, string>, key: string): string {
  const value = data[key];
  if (value === undefined) throw new Error(`references non-existent key: ${key}`);
  return value;
}

function environmentOf({ env = [] }: Container, moved: ReadonlyMap<string, string>): Record<string, string> {
  const here = (value: string): string => {
    const [path, folder] = [...moved].find(([mounted]) => value.startsWith(`${mounted}/`)) ?? ['', ''];
    return folder + value.slice(path.length);
  };
  return Object.fromEntries(env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, here(value)]])));
}

/** The cluster settings of every pod, and the replacements of its default paths. */
function byKubernetes({ cluster }: ClusterStack, moved: ReadonlyMap<string, string>): Record<string, string> {
  const { hostname, port } = new URL(cluster.url);
  const token = moved.get(TOKEN_MOUNT);
  return {
    KUBERNETES_SERVICE_HOST: hostname,
    KUBERNETES_SERVICE_PORT: port,
    ...(token === undefined
      ? {}
      : { KUBERNETES_TOKEN_FILE: join(token, 'token'), KUBERNETES_CA_FILE: join(token, 'ca.crt') }),
  };
}
