import type { JsonNode } from '../../kernel/json-reader.js';
import { type EmbeddedText, embeddedText } from './embedded-text.js';

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

/** The values of a map or the items of a list. */
export function childrenOf(node: ManifestNode): ManifestNode[] {
  return node.kind === 'map' ? node.entries().map(({ value }) => value) : listOf(node);
}

/** A value of a document inside a text, with its places in the file. */
export function placedIn(node: ManifestNode, text: EmbeddedText): ManifestNode {
  const at = text.toFile(node.at);
  switch (node.kind) {
    case 'map':
      return {
        kind: 'map',
        at,
        entries: () =>
          node.entries().map((each) => ({ ...each, at: text.toFile(each.at), value: placedIn(each.value, text) })),
      };
    case 'list':
      return { kind: 'list', at, items: () => node.items().map((item) => placedIn(item, text)) };
    case 'text':
      return {
        kind: 'text',
        at,
        value: { text: node.value.text, toFile: (offset) => text.toFile(node.value.toFile(offset)) },
      };
    case 'other':
      return { ...node, at };
  }
}
