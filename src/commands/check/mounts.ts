import type { PlacedFinding } from '../../rules-files/check/placed-finding.js';
import type { ConfigMap } from './config-map.js';
import { entryOf, listOf, textOf, type ManifestNode } from './manifest-node.js';

/** A `subPath` of a volume that comes from a ConfigMap. */
export interface Mount {
  /** Of the ConfigMaps that the volume comes from. */
  configMaps: string[];
  subPath: string;
  at: number;
}

const POD_SPECS = [['spec'], ['spec', 'template', 'spec'], ['spec', 'jobTemplate', 'spec', 'template', 'spec']];

/** The mounts by `subPath` of a workload; of anything else none. */
export function readMounts(node: ManifestNode): Mount[] {
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

/** Such a mount is never updated, so the engine would read its first rules for ever. */
export function subPathFindings(mounts: readonly Mount[], holding: readonly ConfigMap[]): PlacedFinding[] {
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
