import { type ConfigMap, configMapFindings, innerManifests, readChartValues, readConfigMap } from './config-map.js';
import { type EmbeddedText, entryOf, listOf, type ManifestNode, textOf } from './manifest-node.js';
import type { PlacedFinding } from '../../rules-files/check/checks.js';

/** The rules in a file's manifests, and findings about the manifests. */
export interface ManifestReading {
  rules: EmbeddedText[];
  findings: PlacedFinding[];
}

/** The most nested lists. Clusters print fewer. */
const MAX_DEPTH = 8;

/** Reads YAML text inside a manifest, such as a chart's values in an Application of Argo CD. */
export type ReadInner = (text: EmbeddedText) => { roots: ManifestNode[]; findings: () => PlacedFinding[] };

/**
 * Finds ConfigMaps and Secrets with rules, also in lists, as chart values, and inside other objects (HelmRelease, Application,
 * Kustomization). Also finds workloads that mount them.
 */
export function readManifests(roots: readonly ManifestNode[], readInner: ReadInner): ManifestReading {
  const faults: PlacedFinding[] = [];
  const maps: ConfigMap[] = [];
  const mounts: Mount[] = [];
  for (const root of roots) collect(root, 0);
  const holding = maps.filter(({ rules, backups, findings }) => rules.length + backups.length + findings.length > 0);
  const findings = [...faults, ...holding.flatMap(configMapFindings), ...subPathFindings(mounts, holding)];
  if (findings.length === 0 && holding.length === 0) {
    const [file] = roots.flatMap(generatedFrom);
    const message =
      file === undefined
        ? 'there is no ConfigMap or Secret with a rules file here, and no values of a chart with one, so nothing is checked'
        : `the rules are generated from ${file}, which is not read from here: check that file itself`;
    findings.push({ code: 'manifest-without-rules', message, at: roots[0]?.at ?? 0 });
  }
  return { rules: holding.flatMap(({ rules }) => rules), findings };

  function collect(node: ManifestNode, depth: number): void {
    const kind = textOf(entryOf(node, 'kind')?.value) ?? '';
    const isDeep = depth === MAX_DEPTH;
    if (kind.endsWith('List'))
      for (const item of isDeep ? [] : listOf(entryOf(node, 'items')?.value)) collect(item, depth + 1);
    else if (kind === 'ConfigMap' || kind === 'Secret') maps.push(readConfigMap(node, kind));
    else if (WORKLOAD.test(kind)) mounts.push(...readMounts(node));
    else {
      maps.push(...readChartValues(node));
      for (const text of isDeep ? [] : innerManifests(node)) {
        const inner = readInner(text);
        for (const root of inner.roots) collect(root, depth + 1);
        faults.push(...inner.findings());
      }
    }
  }
}

/** Rules files from which a Kustomization makes ConfigMaps or Secrets: `rules.json`, `rules.json=production.json`. */
function generatedFrom(node: ManifestNode): string[] {
  return ['configMapGenerator', 'secretGenerator'].flatMap((key) =>
    listOf(entryOf(node, key)?.value).flatMap((each) =>
      listOf(entryOf(each, 'files')?.value).flatMap((file) => /[^=]*[.]json$/.exec(textOf(file) ?? '')?.[0] ?? []),
    ),
  );
}

const WORKLOAD = /^(?:Pod|Deployment|StatefulSet|DaemonSet|ReplicaSet|Job|CronJob)$/;

/** A mount by `subPath` of a volume from a ConfigMap. */
interface Mount {
  /** Names of the ConfigMaps in the volume. */
  configMaps: string[];
  subPath: string;
  at: number;
}

const POD_SPECS = [['spec'], ['spec', 'template', 'spec'], ['spec', 'jobTemplate', 'spec', 'template', 'spec']];

/** The mounts by `subPath` in a workload. Empty for other objects. */
function readMounts(node: ManifestNode): Mount[] {
  return POD_SPECS.flatMap((path) => {
    const spec = entryOf(node, ...path)?.value;
    const volumes = listOf(entryOf(spec, 'volumes')?.value);
    const containers = ['containers', 'initContainers'].flatMap((key) => listOf(entryOf(spec, key)?.value));
    return containers.flatMap((container) =>
      listOf(entryOf(container, 'volumeMounts')?.value).flatMap((mount) => {
        const subPath = entryOf(mount, 'subPath') ?? entryOf(mount, 'subPathExpr');
        const name = textOf(entryOf(mount, 'name')?.value);
        const volume = volumes.find((each) => textOf(entryOf(each, 'name')?.value) === name);
        const configMaps = volume === undefined ? [] : configMapsOf(volume);
        if (subPath === undefined || configMaps.length === 0) return [];
        return [{ configMaps, subPath: textOf(subPath.value) ?? '', at: subPath.value.at }];
      }),
    );
  });
}

function configMapsOf(volume: ManifestNode): string[] {
  const sources = [volume, ...listOf(entryOf(volume, 'projected', 'sources')?.value)];
  return sources.flatMap((source) => {
    const name = textOf(entryOf(source, 'configMap', 'name')?.value);
    return name === null ? [] : [name];
  });
}

/** Findings on mounts by `subPath`: Kubernetes never updates them, so the engine would use its first rules for ever. */
function subPathFindings(mounts: readonly Mount[], holding: readonly ConfigMap[]): PlacedFinding[] {
  return mounts
    .filter(
      ({ configMaps, subPath }) =>
        holding.some(({ name }) => name !== null && configMaps.includes(name)) || /(?:^|\/)rules\.json$/.test(subPath),
    )
    .map(({ configMaps, at }) => ({
      code: 'mount-sub-path',
      message: `${configMaps.join(', ')} is mounted by subPath, which is never updated: later rules do not reach the engine`,
      at,
    }));
}
