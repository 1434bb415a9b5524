import { LineCounter, parseAllDocuments } from 'yaml';
import { readJson } from '../../kernel/json-reader.js';
import type { PlacedFinding } from '../../trino-rules/check/placed-finding.js';
import type { EmbeddedText } from './embedded-text.js';
import { readManifests, type ManifestReading } from './manifest.js';
import { ofJson, YamlValues } from './manifest-node.js';
import { sizeFindings } from './size.js';

/** The rules that a file holds, itself or in manifests. */
export function readSource(text: string): ManifestReading {
  if (/^\s*\{/.test(text)) return readJsonSource(text);
  return MANIFEST.test(text) ? readYaml(text) : bare(text);
}

/** A line that begins a Kubernetes manifest, a YAML document, or what Helm prints. */
const MANIFEST =
  /^(?:apiVersion|kind|metadata|data|items|---)\b|^(?:---|# Source:)|^["']?(?:apiVersion|kind)["']?\s*:/m;

function bare(text: string): ManifestReading {
  const rules: EmbeddedText = { text, toFile: (offset) => offset };
  return { rules: [rules], findings: sizeFindings(Buffer.byteLength(text), 'file', 0) };
}

function readJsonSource(text: string): ManifestReading {
  if (!/\b(?:kind|apiVersion)\b/.test(text)) return bare(text);
  const { root, faults } = readJson(text, { maxValues: 5_000_000, maxFaults: 1_000, isLenient: true });
  if (root === null) {
    const yaml = readYaml(text);
    const isYaml = MANIFEST.test(text) || yaml.findings.every(({ code }) => code !== 'manifest-syntax');
    return isYaml ? yaml : bare(text);
  }
  if (root.kind !== 'object' || !root.members.some(({ key }) => key === 'kind' || key === 'apiVersion'))
    return bare(text);
  const { rules, findings } = readManifests([ofJson(root, text)]);
  const syntax = faults.map(({ message, at }): PlacedFinding => ({ code: 'manifest-syntax', message, at }));
  return { rules, findings: [...syntax, ...findings] };
}

function readYaml(text: string): ManifestReading {
  const documents = [
    ...parseAllDocuments(text, { lineCounter: new LineCounter(), prettyErrors: false, logLevel: 'silent' }),
  ];
  const syntax = documents.flatMap(({ errors }) =>
    errors.map(({ message, code, pos: [at] }): PlacedFinding => {
      const text = code === 'RESOURCE_EXHAUSTION' ? 'nested too deeply' : message;
      return { code: 'manifest-syntax', message: text, at };
    }),
  );
  const read = documents.map((document) => ({ document, values: new YamlValues(document, text) }));
  const roots = read.flatMap(({ document, values }) =>
    document.contents === null ? [] : [values.read(document.contents)],
  );
  const { rules, findings } = readManifests(roots);
  return { rules, findings: [...syntax, ...read.flatMap(({ values }) => values.faults), ...findings] };
}
