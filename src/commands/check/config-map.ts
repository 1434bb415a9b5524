import { gunzipSync } from 'node:zlib';
import { type PlacedFinding, severityOf } from '../../rules-files/check/checks.js';
import { SECTION_NAMES } from '../../rules-files/check/engine-format.js';
import { readLeniently } from '../../rules-files/check/lenient-reader.js';
import { decodeFile } from './decode.js';
import {
  childrenOf,
  type EmbeddedText,
  entriesOf,
  entryOf,
  listOf,
  type ManifestEntry,
  type ManifestNode,
  textOf,
} from './manifest-node.js';

/** The rules in a ConfigMap, or in something that has the form of one. */
export interface ConfigMap {
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
  /** Null: the backup cannot be read. */
  text: string | null;
}

const RULES = 'rules.json';
const BACKUP = /\.bak$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Text with a section of rules: a `.json` key with such text is a rules file, whatever its name. */
const SECTION = new RegExp(`"(?:${SECTION_NAMES.join('|')})"\\s*:`);
/** The most bytes after decompression: the API server accepts no larger object. */
const MAX_BYTES = 16_777_216;

/** Reads the rules files of a ConfigMap or a Secret; a Secret's `data` is base64. */
export function readConfigMap(node: ManifestNode, kind: 'ConfigMap' | 'Secret'): ConfigMap {
  const map = emptyMap(node, textOf(entryOf(node, 'metadata', 'name')?.value));
  const name = entryOf(node, 'metadata', 'name')?.value;
  if (name?.kind === 'map') {
    const message = 'the name is no text: templates must be rendered first';
    map.findings.push({ code: 'manifest-syntax', message, at: name.at });
  }
  const [texts, bytes] = kind === 'ConfigMap' ? ['data', 'binaryData'] : ['stringData', 'data'];
  for (const entry of entriesOf(entryOf(node, texts)?.value)) readData(entry, map);
  for (const entry of entriesOf(entryOf(node, bytes)?.value)) {
    // Other keys of a Secret are not read, because they hold secrets.
    if (kind === 'ConfigMap' || entry.key.startsWith(RULES)) readBinary(entry, map);
  }
  return map;
}

/**
 * Maps in a chart's values from which the chart makes ConfigMaps with rules, such as `accessControl.rules` of Trino's chart, at any depth
 * and inside other objects. Also literals of a Kustomization (`rules.json={…}`).
 */
export function readChartValues(node: ManifestNode, depth = MAX_VALUES_DEPTH): ConfigMap[] {
  const map = emptyMap(node, null);
  const literals = listOf(node).flatMap(literalOf);
  for (const entry of [...entriesOf(node), ...literals])
    if (isRules(entry.key, textOf(entry.value) ?? '')) readData(entry, map);
  const below = depth === 0 ? [] : childrenOf(node).flatMap((child) => readChartValues(child, depth - 1));
  return map.rules.length + map.findings.length === 0 ? below : [map, ...below];
}

function literalOf(node: ManifestNode): ManifestEntry[] {
  const [written, key = ''] = /^([\w.-]+[.]json)=(?=\s*[{])/.exec(textOf(node) ?? '') ?? [];
  if (node.kind !== 'text' || written === undefined) return [];
  const literal = node.value;
  const value = {
    text: literal.text.slice(written.length),
    toFile: (offset: number) => literal.toFile(offset + written.length),
  };
  return [{ key, at: node.at, value: { ...node, value } }];
}

/** Texts inside an object that are themselves manifests or chart values with rules, such as Argo CD's `helm.values`, or a patch. */
export function innerManifests(node: ManifestNode, depth = MAX_VALUES_DEPTH): EmbeddedText[] {
  if (node.kind === 'text') return INNER_KEY.test(node.value.text) ? [node.value] : [];
  return depth === 0 ? [] : childrenOf(node).flatMap((child) => innerManifests(child, depth - 1));
}

/** A YAML key that may hold rules. In JSON it would stand within braces. */
const INNER_KEY = /^ *["']?[\w.-]+[.]json["']?: *[|>'"]/m;
/** The most nested levels of values: the values of a chart inside another stand below its name. */
const MAX_VALUES_DEPTH = 8;

function emptyMap(node: ManifestNode, name: string | null): ConfigMap {
  return { node, name, rules: [], backups: [], findings: [], bytes: 0 };
}

function readData({ key, at, value }: ManifestEntry, map: ConfigMap): void {
  if (value.kind !== 'text') {
    if (key !== RULES) return;
    const message = `"${RULES}" must be one text; Kubernetes refuses anything else`;
    map.findings.push({ code: 'config-map-not-text', message, at: value.at });
    return;
  }
  const { text } = value.value;
  map.bytes += Buffer.byteLength(text);
  if (key.endsWith('.bak')) {
    if (isRules(key.replace(BACKUP, ''), text)) map.backups.push({ key, at, text });
  } else if (isRules(key, text)) map.rules.push(value.value);
}

function isRules(key: string, text: string): boolean {
  return key === RULES || (key.endsWith('.json') && SECTION.test(text));
}

function readBinary({ key, at, value }: ManifestEntry, map: ConfigMap): void {
  const written = textOf(value) ?? '';
  const bytes = Buffer.from(written, 'base64');
  map.bytes += bytes.length;
  if (!BASE64.test(written.replace(/[\r\n]/g, ''))) {
    const message = `"${key}" must be base64, and is not: Kubernetes refuses it`;
    map.findings.push({ code: 'manifest-syntax', message, at: value.at });
  } else if (key.endsWith('.bak')) {
    if (key.startsWith(RULES)) map.backups.push({ key, at, text: decompressed(bytes) });
  } else if (key === RULES) {
    const { text, findings } = decodeFile(bytes);
    map.findings.push(...findings.map((finding) => ({ ...finding, at: value.at })));
    map.rules.push({ text, toFile: () => value.at });
  }
}

/** The text of a backup. Grantline compresses the former rules if they would not fit beside the present ones. */
function decompressed(bytes: Buffer): string | null {
  const isGzip = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!isGzip) return bytes.toString('utf8');
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_BYTES }).toString('utf8');
  } catch {
    return null;
  }
}

/** Findings about the ConfigMap itself. */
export function configMapFindings({ node, rules, backups, findings, bytes }: ConfigMap): PlacedFinding[] {
  const found = [...findings];
  const [backup] = backups;
  if (rules.length === 0 && backup) {
    const message = `there is "${backup.key}", but no rules file beside it: the engine does not start, or refuses every statement`;
    found.push({ code: 'config-map-backup-only', message, at: backup.at });
  }
  for (const { key, at, text } of backups) {
    if (text !== null && readLeniently(text).findings.every(({ code }) => severityOf(code) !== 'error')) continue;
    const message = text === null ? 'cannot be decompressed' : 'holds rules that the engine would refuse or misread';
    found.push({ code: 'config-map-backup-broken', message: `"${key}" ${message}: it is no way back`, at });
  }
  const immutable = entryOf(node, 'immutable')?.value;
  if (immutable?.kind === 'other' && immutable.value === true) {
    const message = 'the ConfigMap is immutable: no later rules can be published to it';
    found.push({ code: 'config-map-immutable', message, at: immutable.at });
  }
  const data = entryOf(node, 'data') ?? entryOf(node, 'binaryData');
  return [...found, ...sizeFindings(bytes, 'config-map', data?.at ?? node.at)];
}

/** The capacity in bytes of a ConfigMap: the values of `data` and `binaryData` together. */
const LIMIT = 1_048_576;
const NEARLY = 0.6;

/** @param holder `file`: a file with rules only, which may be for a target larger than a ConfigMap */
export function sizeFindings(bytes: number, holder: 'config-map' | 'file', at: number): PlacedFinding[] {
  if (bytes <= NEARLY * LIMIT) return [];
  const share = `${bytes.toLocaleString('en')} bytes, ${Math.floor((100 * bytes) / LIMIT)} % of the ${LIMIT.toLocaleString('en')} that a ConfigMap holds`;
  if (holder === 'file') return [{ code: 'file-size', message: `the rules take ${share}`, at }];
  const isOver = bytes > LIMIT;
  const message = `the values take ${share}${isOver ? ': the API server refuses it' : ''}`;
  return [{ code: isOver ? 'too-large' : 'nearly-too-large', message, at }];
}
