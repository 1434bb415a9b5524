import type { JsonNode } from '../../kernel/json-reader.js';

/** A text inside a file, such as a rules file inside a manifest. */
export interface EmbeddedText {
  text: string;
  /** The offset in the file of an offset in the text. */
  toFile(offset: number): number;
}

/** The style in which a text is written in its file. `escaped`: in double quotes, by JSON or YAML. */
export type Style = 'escaped' | 'single-quoted' | 'plain';

const SPACE = /[ \t\r\n]/;
const SPACE_ESCAPE = /\\(?:[nrt \t]|\r?\n|(?:x|u00|U000000)(?:09|0[aAdD]|20))/y;
const ESCAPE = /\\(?:x.{2}|u.{4}|U.{8}|.)/y;

/**
 * Maps offsets in a text to its file, where the text begins at `start`. White space can be written in many ways (indented, folded,
 * escaped), but other characters keep their order. So offsets of other characters are exact, and those of white space approximate.
 */
export function embeddedText(text: string, file: string, start: number, style: Style): EmbeddedText {
  let places: Uint32Array | null = null;
  return { text, toFile: (offset) => (places ??= placesOf(text, file, start, style))[offset] ?? start };
}

function placesOf(text: string, file: string, start: number, style: Style): Uint32Array {
  const places = new Uint32Array(text.length + 1);
  let at = start;
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (SPACE.test(character)) {
      places[i] = at;
      if (file[at] === character) at++;
      continue;
    }
    at = skipSpace(file, at, style);
    places[i] = at;
    const length = style === 'escaped' ? lengthAt(ESCAPE, file, at) : 0;
    // One escape sequence may stand for a surrogate pair.
    if (length === 10 && /[\ud800-\udbff]/.test(character)) places[++i] = at;
    at += length === 0 ? 1 : length;
    if (style === 'single-quoted' && character === "'") at++;
  }
  places[text.length] = at;
  return places;
}

function skipSpace(file: string, from: number, style: Style): number {
  let at = from;
  for (;;) {
    while (SPACE.test(file.charAt(at))) at++;
    const length = style === 'escaped' ? lengthAt(SPACE_ESCAPE, file, at) : 0;
    if (length === 0) return at;
    at += length;
  }
}

function lengthAt(pattern: RegExp, file: string, at: number): number {
  pattern.lastIndex = at;
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
