import type { JsonNode } from '../../kernel/json-reader.js';

/** A text inside a file, such as a rules file inside a manifest. */
export interface EmbeddedText {
  text: string;
  toFile(offset: number): number;
}

/** The style in which a text is written in its file. `escaped`: in double quotes, by JSON or YAML. */
export type TextStyle = 'escaped' | 'single-quoted' | 'plain';

const WHITE_SPACE = /[ \t\r\n]/;
const SPACE_ESCAPE = /\\(?:[nrt \t]|\r?\n|(?:x|u00|U000000)(?:09|0[aAdD]|20))/y;
const ESCAPE = /\\(?:x.{2}|u.{4}|U.{8}|.)/y;

/**
 * Maps offsets in a text to offsets in its file, where the text begins at `textStart`. White space can be written in many ways (indented,
 * folded, escaped), but other characters keep their order. So offsets of white space are approximate, and all other offsets are exact.
 */
export function embeddedText(text: string, file: string, textStart: number, style: TextStyle): EmbeddedText {
  let offsets: Uint32Array | null = null;
  return { text, toFile: (offset) => (offsets ??= offsetsOf(text, file, textStart, style))[offset] ?? textStart };
}

function offsetsOf(text: string, file: string, textStart: number, style: TextStyle): Uint32Array {
  const offsets = new Uint32Array(text.length + 1);
  let position = textStart;
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (WHITE_SPACE.test(character)) {
      offsets[i] = position;
      if (file[position] === character) position++;
      continue;
    }
    position = skipSpace(file, position, style);
    offsets[i] = position;
    const escapeLength = style === 'escaped' ? matchLengthAt(ESCAPE, file, position) : 0;
    // One escape sequence of ten characters can encode a surrogate pair.
    if (escapeLength === 10 && /[\ud800-\udbff]/.test(character)) offsets[++i] = position;
    position += escapeLength === 0 ? 1 : escapeLength;
    if (style === 'single-quoted' && character === "'") position++;
  }
  offsets[text.length] = position;
  return offsets;
}

function skipSpace(file: string, startOffset: number, style: TextStyle): number {
  let position = startOffset;
  for (;;) {
    while (WHITE_SPACE.test(file.charAt(position))) position++;
    const length = style === 'escaped' ? matchLengthAt(SPACE_ESCAPE, file, position) : 0;
    if (length === 0) return position;
    position += length;
  }
}

function matchLengthAt(pattern: RegExp, file: string, position: number): number {
  pattern.lastIndex = position;
  return pattern.exec(file)?.[0].length ?? 0;
}

/** A value of a manifest in JSON or YAML, with its place in the file. Its children are read on demand. */
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

export function nodeOfJson(node: JsonNode, file: string): ManifestNode {
  const { at } = node;
  switch (node.kind) {
    case 'object':
      return {
        kind: 'map',
        at,
        entries: () => node.members.map((member) => ({ ...member, value: nodeOfJson(member.value, file) })),
      };
    case 'array':
      return { kind: 'list', at, items: () => node.items.map((item) => nodeOfJson(item, file)) };
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
  const [key, ...remainingPath] = path;
  const entry = node?.kind === 'map' ? node.entries().findLast((each) => each.key === key) : undefined;
  return remainingPath.length === 0 ? entry : entryOf(entry?.value, ...remainingPath);
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

export function childrenOf(node: ManifestNode): ManifestNode[] {
  return node.kind === 'map' ? node.entries().map(({ value }) => value) : listOf(node);
}
