import { readJson } from '../../kernel/json-reader.js';
import { SECTION_NAMES } from '../../rules-files/check/engine-format.js';
import type { PlacedFinding } from '../../rules-files/check/checks.js';
import { YAML_MAX_BYTES } from '../files.js';
import { type EmbeddedText, nodeOfJson } from './manifest-node.js';
import { type ManifestReading, readManifests, sizeFindings } from './manifest.js';

/** The rules in a rules file or in manifests. The reader of YAML is loaded only if needed, because loading it takes longer than a small check. */
export async function readSource(text: string): Promise<ManifestReading> {
  if (/^\s*\{/.test(text)) return readJsonSource(text);
  return MANIFEST_LINE.test(text) || YAML_KEY.test(text) ? (await yamlReader())(text) : rulesFileReading(text);
}

/** Matches a line of a YAML manifest or of chart values: a document's beginning, Helm's comment, `apiVersion`, `kind`, or a `.json` key. */
const MANIFEST_LINE = /^(?:---|# Source:)|^["']?(?:apiVersion|kind)["']?\s*:|^ +["']?[\w.-]+[.]json["']?: *[|>'"]/m;
/** Matches an unquoted key, by which YAML is recognised. An unquoted name of a rules section does not count: the file is then JSON with a fault. */
const YAML_KEY = new RegExp(`^(?!(?:${SECTION_NAMES.join('|')}):)[A-Za-z][\\w.-]*:(?:\\s|$)`, 'm');

function rulesFileReading(text: string): ManifestReading {
  const rules: EmbeddedText = { text, toFile: (offset) => offset };
  return { rules: [rules], findings: sizeFindings(Buffer.byteLength(text), 'file', 0) };
}

async function readJsonSource(text: string): Promise<ManifestReading> {
  if (!/\b(?:kind|apiVersion)\b/.test(text)) return rulesFileReading(text);
  const { root, faults } = readJson(text, { maxValues: 5_000_000, maxFaults: 1_000, isLenient: true });
  if (root === null) {
    const yamlReading = (await yamlReader())(text);
    const isYaml = MANIFEST_LINE.test(text) || yamlReading.findings.every(({ code }) => code !== 'manifest-syntax');
    return isYaml ? yamlReading : rulesFileReading(text);
  }
  if (root.kind !== 'object' || !root.members.some(({ key }) => key === 'kind' || key === 'apiVersion'))
    return rulesFileReading(text);
  const { readDocuments } = await import('./yaml-source.js');
  const { rules, findings } = readManifests([nodeOfJson(root, text)], readDocuments);
  const syntaxFindings = faults.map(({ message, at }): PlacedFinding => ({ code: 'manifest-syntax', message, at }));
  return { rules, findings: [...syntaxFindings, ...findings] };
}

async function yamlReader(): Promise<(text: string) => ManifestReading> {
  const { readYaml } = await import('./yaml-source.js');
  return (text) => {
    if (Buffer.byteLength(text) <= YAML_MAX_BYTES) return readYaml(text);
    const message = `more than ${YAML_MAX_BYTES / 1_000_000} MB of YAML: write it as JSON`;
    return { rules: [], findings: [{ code: 'manifest-syntax', message, at: 0 }] };
  };
}
