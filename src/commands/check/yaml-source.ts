import { LineCounter, parseAllDocuments } from 'yaml';
import type { PlacedFinding } from '../../rules-files/check/placed-finding.js';
import { type ManifestReading, type ReadInner, readManifests } from './manifest.js';
import { YamlValues } from './yaml-values.js';

/** The rules in the manifests of a YAML file. */
export function readYaml(text: string): ManifestReading {
  const { roots, findings } = readDocuments(text);
  const read = readManifests(roots, readDocuments);
  return { rules: read.rules, findings: [...findings(), ...read.findings] };
}

/** The documents of a text; findings of aliases are made while values are read. */
export function readDocuments(text: string): ReturnType<ReadInner> {
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
  return { roots, findings: () => [...syntax, ...read.flatMap(({ values }) => values.faults)] };
}
