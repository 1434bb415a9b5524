import {
  type EmbeddedText,
  entryOf,
  listOf,
  type ManifestNode,
  textOf,
  childrenOf,
  entriesOf,
  type ManifestEntry,
} from './manifest-node.js';
import { type PlacedFinding, severityOf } from '../../rules-files/check/checks.js';
import { gunzipSync } from 'node:zlib';
import { SECTION_NAMES } from '../../rules-files/check/engine-format.js';
import { readLeniently } from '../../rules-files/check/lenient-reader.js';
import { decodeFile } from './decode.js';

/** The rules in a ConfigMap, a Secret, or a map of a chart's values. */
interface ConfigMap {
  node: ManifestNode;
  name: string | null;
  rules: EmbeddedText[];
  /** Keys with backups of former rules, which the engine does not read. */
  backups: Backup[];
  findings: PlacedFinding[];
  bytes: number;
}

interface Backup {
  key: string;
  at: number;
  /** The former rules; null: the backup cannot be read. */
  text: string | null;
}

const RULES_KEY = 'rules.json';
const BACKUP_SUFFIX = /\.bak$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Matches text with a section of rules. If the value of any `.json` key matches, the value is read as a rules file. */
const SECTION_PATTERN = new RegExp(`"(?:${SECTION_NAMES.join('|')})"\\s*:`);
/** The most bytes of a backup after decompression, far more than the 1 MiB that a ConfigMap can hold. */
const MAX_BACKUP_BYTES = 16_777_216;

/** Reads the rules files of a ConfigMap or a Secret; a Secret's `data` is base64. */
function readConfigMap(node: ManifestNode, kind: 'ConfigMap' | 'Secret'): ConfigMap {
  const configMap = newConfigMap(node, textOf(entryOf(node, 'metadata', 'name')?.value));
  const name = entryOf(node, 'metadata', 'name')?.value;
  if (name?.kind === 'map') {
    const message = 'the name is no text: templates must be rendered first';
    configMap.findings.push({ code: 'manifest-syntax', message, at: name.at });
  }
  const [textsKey, bytesKey] = kind === 'ConfigMap' ? ['data', 'binaryData'] : ['stringData', 'data'];
  for (const entry of entriesOf(entryOf(node, textsKey)?.value)) readTextEntry(entry, configMap);
  for (const entry of entriesOf(entryOf(node, bytesKey)?.value)) {
    // Other keys of a Secret are not read, because they hold secrets.
    if (kind === 'ConfigMap' || entry.key.startsWith(RULES_KEY)) readBinaryEntry(entry, configMap);
  }
  return configMap;
}

/**
 * Finds the ConfigMaps with rules that a chart makes from its values, such as from `accessControl.rules` of Trino's chart. Also finds
 * literals of a Kustomization (`rules.json={…}`).
 */
function readChartValues(node: ManifestNode, depthLeft = MAX_VALUES_DEPTH): ConfigMap[] {
  const configMap = newConfigMap(node, null);
  const literals = listOf(node).flatMap(literalEntries);
  for (const entry of [...entriesOf(node), ...literals])
    if (isRulesEntry(entry.key, textOf(entry.value) ?? '')) readTextEntry(entry, configMap);
  const nestedMaps = depthLeft === 0 ? [] : childrenOf(node).flatMap((child) => readChartValues(child, depthLeft - 1));
  return configMap.rules.length + configMap.findings.length === 0 ? nestedMaps : [configMap, ...nestedMaps];
}

function literalEntries(node: ManifestNode): ManifestEntry[] {
  const [prefix, key = ''] = /^([\w.-]+[.]json)=(?=\s*[{])/.exec(textOf(node) ?? '') ?? [];
  if (node.kind !== 'text' || prefix === undefined) return [];
  const literal = node.value;
  const value = {
    text: literal.text.slice(prefix.length),
    toFile: (offset: number) => literal.toFile(offset + prefix.length),
  };
  return [{ key, at: node.at, value: { ...node, value } }];
}

/** Finds texts in an object that contain YAML with rules: a manifest, a patch, or chart values such as Argo CD's `helm.values`. */
function embeddedManifests(node: ManifestNode, depth = MAX_VALUES_DEPTH): EmbeddedText[] {
  if (node.kind === 'text') return NESTED_RULES_KEY.test(node.value.text) ? [node.value] : [];
  return depth === 0 ? [] : childrenOf(node).flatMap((child) => embeddedManifests(child, depth - 1));
}

/** Matches a YAML key that may have rules as its value. */
const NESTED_RULES_KEY = /^ *["']?[\w.-]+[.]json["']?: *[|>'"]/m;
/** Nested values are searched for rules only down to this level. The name of a subchart counts as a level. */
const MAX_VALUES_DEPTH = 8;

function newConfigMap(node: ManifestNode, name: string | null): ConfigMap {
  return { node, name, rules: [], backups: [], findings: [], bytes: 0 };
}

function readTextEntry({ key, at, value }: ManifestEntry, configMap: ConfigMap): void {
  if (value.kind !== 'text') {
    if (key !== RULES_KEY) return;
    const message = `"${RULES_KEY}" must be one text; Kubernetes refuses anything else`;
    configMap.findings.push({ code: 'config-map-not-text', message, at: value.at });
    return;
  }
  const { text } = value.value;
  configMap.bytes += Buffer.byteLength(text);
  if (key.endsWith('.bak')) {
    if (isRulesEntry(key.replace(BACKUP_SUFFIX, ''), text)) configMap.backups.push({ key, at, text });
  } else if (isRulesEntry(key, text)) configMap.rules.push(value.value);
}

function isRulesEntry(key: string, text: string): boolean {
  return key === RULES_KEY || (key.endsWith('.json') && SECTION_PATTERN.test(text));
}

function readBinaryEntry({ key, at, value }: ManifestEntry, configMap: ConfigMap): void {
  const encodedText = textOf(value) ?? '';
  const bytes = Buffer.from(encodedText, 'base64');
  configMap.bytes += bytes.length;
  if (!BASE64.test(encodedText.replace(/[\r\n]/g, ''))) {
    const message = `"${key}" must be base64, and is not: Kubernetes refuses it`;
    configMap.findings.push({ code: 'manifest-syntax', message, at: value.at });
  } else if (key.endsWith('.bak')) {
    if (key.startsWith(RULES_KEY)) configMap.backups.push({ key, at, text: decompress(bytes) });
  } else if (key === RULES_KEY) {
    const { text, findings } = decodeFile(bytes);
    configMap.findings.push(...findings.map((finding) => ({ ...finding, at: value.at })));
    configMap.rules.push({ text, toFile: () => value.at });
  }
}

/** The text of a backup. Grantline compresses the former rules if they would not fit beside the current ones. */
function decompress(bytes: Buffer): string | null {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip) return bytes.toString('utf8');
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BACKUP_BYTES }).toString('utf8');
  } catch {
    return null;
  }
}

function configMapFindings({ node, rules, backups, findings, bytes }: ConfigMap): PlacedFinding[] {
  const allFindings = [...findings];
  const [backup] = backups;
  if (rules.length === 0 && backup) {
    const message = `there is "${backup.key}", but no rules file beside it: the engine does not start, or refuses every statement`;
    allFindings.push({ code: 'config-map-backup-only', message, at: backup.at });
  }
  for (const { key, at, text } of backups) {
    if (text !== null && readLeniently(text).findings.every(({ code }) => severityOf(code) !== 'error')) continue;
    const message = text === null ? 'cannot be decompressed' : 'holds rules that the engine would refuse or misread';
    allFindings.push({ code: 'config-map-backup-broken', message: `"${key}" ${message}: it is no way back`, at });
  }
  const immutableValue = entryOf(node, 'immutable')?.value;
  if (immutableValue?.kind === 'other' && immutableValue.value === true) {
    const message = 'the ConfigMap is immutable: no later rules can be published to it';
    allFindings.push({ code: 'config-map-immutable', message, at: immutableValue.at });
  }
  const dataEntry = entryOf(node, 'data') ?? entryOf(node, 'binaryData');
  return [...allFindings, ...sizeFindings(bytes, 'config-map', dataEntry?.at ?? node.at)];
}

/** The capacity in bytes of a ConfigMap: the values of `data` and `binaryData` together. */
const CONFIG_MAP_BYTES = 1_048_576;
const WARNING_SHARE = 0.6;

/** Findings about rules that are too large or nearly too large. @param containerKind `file`: a rules file, which may not be meant for a ConfigMap */
export function sizeFindings(bytes: number, containerKind: 'config-map' | 'file', at: number): PlacedFinding[] {
  if (bytes <= WARNING_SHARE * CONFIG_MAP_BYTES) return [];
  const shareText = `${bytes.toLocaleString('en')} bytes, ${Math.floor((100 * bytes) / CONFIG_MAP_BYTES)} % of the ${CONFIG_MAP_BYTES.toLocaleString('en')} that a ConfigMap holds`;
  if (containerKind === 'file') return [{ code: 'file-size', message: `the rules take ${shareText}`, at }];
  const isTooLarge = bytes > CONFIG_MAP_BYTES;
  const message = `the values take ${shareText}${isTooLarge ? ': the API server refuses it' : ''}`;
  return [{ code: isTooLarge ? 'too-large' : 'nearly-too-large', message, at }];
}

/** The rules in a file's manifests, and findings about the manifests. */
export interface ManifestReading {
  rules: EmbeddedText[];
  findings: PlacedFinding[];
}

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

interface SubPathMount {
  configMaps: string[];
  subPath: string;
  at: number;
}

const POD_SPEC_PATHS = [['spec'], ['spec', 'template', 'spec'], ['spec', 'jobTemplate', 'spec', 'template', 'spec']];

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
