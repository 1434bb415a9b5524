import { type ConfigMap, configMapFindings, embeddedManifests, readChartValues, readConfigMap } from './config-map.js';
import { type EmbeddedText, entryOf, listOf, type ManifestNode, textOf } from './manifest-node.js';
import type { PlacedFinding } from '../../rules-files/check/checks.js';

/** The rules in a file's manifests, and findings about the manifests. */
export interface ManifestReading {
  rules: EmbeddedText[];
  findings: PlacedFinding[];
}

/** How deep lists and manifests may be nested. */
const MAX_DEPTH = 8;

/** Reads YAML text inside a manifest, such as a chart's values in an Application of Argo CD. */
export type ReadEmbedded = (text: EmbeddedText) => { roots: ManifestNode[]; findings: () => PlacedFinding[] };

/**
 * Finds ConfigMaps and Secrets with rules, also in lists, as chart values, and inside other objects (HelmRelease, Application,
 * Kustomization). Also finds workloads that mount them.
 */
export function readManifests(roots: readonly ManifestNode[], readEmbedded: ReadEmbedded): ManifestReading {
  const embeddedFindings: PlacedFinding[] = [];
  const maps: ConfigMap[] = [];
  const mounts: SubPathMount[] = [];
  for (const root of roots) collectMapsAndMounts(root, 0);
  const ruleMaps = maps.filter(({ rules, backups, findings }) => rules.length + backups.length + findings.length > 0);
  const findings = [...embeddedFindings, ...ruleMaps.flatMap(configMapFindings), ...subPathFindings(mounts, ruleMaps)];
  if (ruleMaps.length === 0) {
    const [file] = roots.flatMap(generatorFiles);
    const message =
      file === undefined
        ? 'there is no ConfigMap or Secret with a rules file here, and no values of a chart with one, so nothing is checked'
        : `the rules are generated from ${file}, which is not read from here: check that file itself`;
    findings.push({ code: 'manifest-without-rules', message, at: roots[0]?.at ?? 0 });
  }
  return { rules: ruleMaps.flatMap(({ rules }) => rules), findings };

  function collectMapsAndMounts(node: ManifestNode, depth: number): void {
    const kind = textOf(entryOf(node, 'kind')?.value) ?? '';
    const isTooDeep = depth === MAX_DEPTH;
    if (kind.endsWith('List'))
      for (const item of isTooDeep ? [] : listOf(entryOf(node, 'items')?.value)) collectMapsAndMounts(item, depth + 1);
    else if (kind === 'ConfigMap' || kind === 'Secret') maps.push(readConfigMap(node, kind));
    else if (WORKLOAD_KIND.test(kind)) mounts.push(...readMounts(node));
    else {
      maps.push(...readChartValues(node));
      for (const text of isTooDeep ? [] : embeddedManifests(node)) {
        const embeddedReading = readEmbedded(text);
        for (const root of embeddedReading.roots) collectMapsAndMounts(root, depth + 1);
        embeddedFindings.push(...embeddedReading.findings());
      }
    }
  }
}

/** Rules files from which a Kustomization makes ConfigMaps or Secrets: `rules.json`, `rules.json=production.json`. */
function generatorFiles(node: ManifestNode): string[] {
  return ['configMapGenerator', 'secretGenerator'].flatMap((key) =>
    listOf(entryOf(node, key)?.value).flatMap((each) =>
      listOf(entryOf(each, 'files')?.value).flatMap((file) => /[^=]*[.]json$/.exec(textOf(file) ?? '')?.[0] ?? []),
    ),
  );
}

const WORKLOAD_KIND = /^(?:Pod|Deployment|StatefulSet|DaemonSet|ReplicaSet|Job|CronJob)$/;

/** A mount by `subPath` of a volume from a ConfigMap. */
interface SubPathMount {
  configMaps: string[];
  subPath: string;
  at: number;
}

const POD_SPEC_PATHS = [['spec'], ['spec', 'template', 'spec'], ['spec', 'jobTemplate', 'spec', 'template', 'spec']];

/** The mounts by `subPath` in a workload. Empty for other objects. */
function readMounts(node: ManifestNode): SubPathMount[] {
  return POD_SPEC_PATHS.flatMap((path) => {
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
function subPathFindings(mounts: readonly SubPathMount[], ruleMaps: readonly ConfigMap[]): PlacedFinding[] {
  return mounts
    .filter(
      ({ configMaps, subPath }) =>
        ruleMaps.some(({ name }) => name !== null && configMaps.includes(name)) || /(?:^|\/)rules\.json$/.test(subPath),
    )
    .map(({ configMaps, at }) => ({
      code: 'mount-sub-path',
      message: `${configMaps.join(', ')} is mounted by subPath, which is never updated: later rules do not reach the engine`,
      at,
    }));
}
