import { createHash } from 'node:crypto';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';
import { buildProgram } from './go.js';
import { installPython } from './python.js';

const MODULES = join(import.meta.dirname, 'chart-tools');
const GITOPS_DIFF = join(import.meta.dirname, 'gitops-diff');
const MODULE_FILES = ['go.mod', 'go.sum'];

/** Two modules, because kube-score and Prometheus need different ages of the Kubernetes libraries. Each is pinned by its go.sum. */
const PROGRAMS = [
  { module: 'kube-score', name: 'kube-score', source: 'github.com/zegl/kube-score/cmd/kube-score', flags: [] },
  { module: 'kube-score', name: 'helm-docs', source: 'github.com/norwoodj/helm-docs/cmd/helm-docs', flags: [] },
  {
    module: 'promtool',
    name: 'promtool',
    source: 'github.com/prometheus/prometheus/cmd/promtool',
    // Without the service discoveries of all clouds, which take minutes to build.
    flags: ['-tags', 'remove_all_sd'],
  },
];

/** A folder with kube-score 1.20, helm-docs 1.14 and promtool 0.315 (of Prometheus 3.15). Built in about two minutes on idle cores; 80 MB are kept. */
export async function installChartTools(processes: Processes, cache: string): Promise<string> {
  const pins = ['kube-score', 'promtool'].flatMap((module) => MODULE_FILES.map((file) => join(MODULES, module, file)));
  const names = PROGRAMS.map(({ name }) => name);
  return cached(cache, await keyOf('chart-tools', pins), names, async (staging) => {
    for (const { module, name, source, flags } of PROGRAMS)
      await buildProgram(processes, { module: join(MODULES, module), source, program: join(staging, name), flags });
  });
}

/** A folder with `gitops-diff`: what Argo CD and Flux would show as different, by their own code. Built in two to four minutes on idle cores; 40 MB. */
export async function installGitopsDiff(processes: Processes, cache: string): Promise<string> {
  const pins = [...MODULE_FILES, 'main.go'].map((file) => join(GITOPS_DIFF, file));
  return cached(cache, await keyOf('gitops-diff', pins), ['gitops-diff'], (staging) =>
    buildProgram(processes, { module: GITOPS_DIFF, source: '.', program: join(staging, 'gitops-diff') }),
  );
}

async function keyOf(name: string, files: readonly string[]): Promise<string> {
  const pins = createHash('sha256');
  for (const file of files) pins.update(await readFile(file));
  return `${name}-${pins.digest('hex').slice(0, 8)}`;
}

/** Looks for mistakes in rendered manifests: `bin/python -m checkov.main`. About 350 MB. */
export function installCheckov(processes: Processes, cache: string): Promise<string> {
  return installPython(processes, cache, 'checkov');
}

/** Where the definitions of the foreign kinds that the chart can render are published, and their hashes in Go's checksum database. */
const DEFINITIONS = [
  {
    module: 'sigs.k8s.io/gateway-api@v1.4.1',
    sum: 'h1:NPxFutNkKNa8UfLd2CMlEuhIPMQgDQ6DXNKG9sHbJU8=',
    files: ['config/crd/standard/gateway.networking.k8s.io_httproutes.yaml'],
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: [
      'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml',
      'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml',
      'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml',
    ],
  },
  {
    module: 'github.com/external-secrets/external-secrets@v1.3.2',
    sum: 'h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ=',
    files: ['config/crds/bases/external-secrets.io_externalsecrets.yaml'],
  },
  {
    module: 'github.com/bitnami-labs/sealed-secrets@v0.40.0',
    sum: 'h1:rvCP35JL8ZV5LNA2SrwNR6iLyoM3ulrSFWN0lBtYEYI=',
    files: ['helm/sealed-secrets/crds/bitnami.com_sealedsecrets.yaml'],
  },
];

/** A folder with the CustomResourceDefinitions of everything foreign that the chart can render, as their projects publish them. */
export function installResourceDefinitions(processes: Processes, cache: string): Promise<string> {
  const key = `resource-definitions-${createHash('sha256').update(JSON.stringify(DEFINITIONS)).digest('hex').slice(0, 8)}`;
  const paths = DEFINITIONS.flatMap(({ files }) => files);
  return cached(cache, key, paths.map(fileName), async (staging) => {
    const work = join(staging, 'work');
    await mkdir(work);
    for (const { module, sum, files } of DEFINITIONS) {
      const answer = await processes.complete({
        name: `download-${module.replace(/[^a-z0-9]+/g, '-')}`,
        command: 'go',
        args: ['mod', 'download', '-json', module],
        env: { GOFLAGS: '-mod=mod', GOWORK: 'off' },
        cwd: work,
      });
      const { Dir: folder, Sum: found } = JSON.parse(answer) as { Dir: string; Sum: string };
      if (found !== sum) throw new Error(`${module} is not what was pinned; its sum is ${found}`);
      for (const file of files) await cp(join(folder, file), join(staging, fileName(file)));
    }
  });
}

function fileName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
