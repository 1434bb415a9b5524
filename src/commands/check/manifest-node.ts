import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type ParsedNode, Scalar } from 'yaml';
import type { JsonNode } from '../../kernel/json-reader.js';
import { type EmbeddedText, embeddedText, type Style } from './embedded-text.js';

/** A value of a manifest, whether JSON or YAML, with its place in the file. Below it is read when it is asked for. */
export type ManifestNode =
  | { kind: 'map'; at: number; entries(): ManifestEntry[] }
  | { kind: 'list'; at: number; items(): ManifestNode[] }
  | { kind: 'text'; at: number; value: EmbeddedText }
  | { kind: 'other'; at: number; value: unknown };

export interface ManifestEntry {
  key: string;
  at: number;
  value: ManifestNode;
}

export function ofJson(node: JsonNode, file: string): ManifestNode {
  const { at } = node;
  switch (node.kind) {
    case 'object':
      return {
        kind: 'map',
        at,
        entries: () => node.members.map((member) => ({ ...member, value: ofJson(member.value, file) })),
      };
    case 'array':
      return { kind: 'list', at, items: () => node.items.map((item) => ofJson(item, file)) };
    case 'string':
      return { kind: 'text', at, value: embeddedText(node.value, file, at + 1, 'escaped') };
    case 'number':
      return { kind: 'other', at, value: Number(node.text) };
    case 'boolean':
      return { kind: 'other', at, value: node.value };
    case 'null':
      return { kind: 'other', at, value: null };
  }
}

export function ofYaml(node: unknown, document: Document<ParsedNode>, file: string): ManifestNode {
  if (isAlias(node)) return ofYaml(node.resolve(document), document, file);
  if (isMap(node)) {
    return {
      kind: 'map',
      at: startOf(node),
      entries: () =>
        node.items.map(({ key, value }) => ({
          key: isScalar(key) ? String(key.value) : '',
          at: isScalar(key) ? startOf(key) : startOf(node),
          value: ofYaml(value, document, file),
        })),
    };
  }
  if (isSeq(node))
    return { kind: 'list', at: startOf(node), items: () => node.items.map((item) => ofYaml(item, document, file)) };
  if (!isScalar(node)) return { kind: 'other', at: 0, value: null };
  const at = startOf(node);
  if (typeof node.value !== 'string') return { kind: 'other', at, value: node.value };
  return {
    kind: 'text',
    at,
    value: embeddedText(node.value, file, firstCharacter(node, file), STYLES[node.type ?? ''] ?? 'plain'),
  };
}

const STYLES: Readonly<Record<string, Style>> = {
  [Scalar.QUOTE_DOUBLE]: 'escaped',
  [Scalar.QUOTE_SINGLE]: 'single-quoted',
};

function startOf(node: Node): number {
  return node.range?.[0] ?? 0;
}

/** Behind a quote, or behind the line of a block's `|` or `>`. */
function firstCharacter(node: Scalar, file: string): number {
  const at = startOf(node);
  if (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED) return file.indexOf('\n', at) + 1;
  return node.type === Scalar.PLAIN ? at : at + 1;
}

export function entryOf(node: ManifestNode | undefined, ...path: string[]): ManifestEntry | undefined {
  const [key, ...more] = path;
  const entry = node?.kind === 'map' ? node.entries().findLast((each) => each.key === key) : undefined;
  return more.length === 0 ? entry : entryOf(entry?.value, ...more);
}

export function textOf(node: ManifestNode | undefined): string | null {
  return node?.kind === 'text' ? node.value.text : null;
}

export function listOf(node: ManifestNode | undefined): ManifestNode[] {
  return node?.kind === 'list' ? node.items() : [];
}

export function entriesOf(node: ManifestNode | undefined): ManifestEntry[] {
  return node?.kind === 'map' ? node.entries() : [];
}
