import { configMapFindings, readConfigMap, type ConfigMap } from './config-map.js';
import type { EmbeddedText } from './embedded-text.js';
import { entryOf, listOf, textOf, type ManifestNode } from './manifest-node.js';
import { readMounts, subPathFindings, type Mount } from './mounts.js';
import type { PlacedFinding } from '../../rules-files/check/placed-finding.js';

/** The contents of a file's manifests. */
export interface ManifestReading {
  rules: EmbeddedText[];
  findings: PlacedFinding[];
}

/** Lists in lists; nothing that a cluster prints has more. */
const MAX_DEPTH = 8;

/** Finds the ConfigMaps that hold rules, in lists too, and the workloads that mount them. */
export function readManifests(roots: readonly ManifestNode[]): ManifestReading {
  const maps: ConfigMap[] = [];
  const mounts: Mount[] = [];
  for (const root of roots) collect(root, 0);
  const holding = maps.filter(({ rules, backups, findings }) => rules.length + backups.length + findings.length > 0);
  const findings = [...holding.flatMap(configMapFindings), ...subPathFindings(mounts, holding)];
  if (findings.length === 0 && holding.length === 0) {
    const message = 'there is no ConfigMap with a rules file here, so nothing is checked';
    findings.push({ code: 'manifest-without-rules', message, at: roots[0]?.at ?? 0 });
  }
  return { rules: holding.flatMap(({ rules }) => rules), findings };

  function collect(node: ManifestNode, depth: number): void {
    const kind = textOf(entryOf(node, 'kind')?.value) ?? '';
    if (kind.endsWith('List') && depth < MAX_DEPTH)
      for (const item of listOf(entryOf(node, 'items')?.value)) collect(item, depth + 1);
    else if (kind === 'ConfigMap') maps.push(readConfigMap(node));
    else mounts.push(...readMounts(node));
  }
}
