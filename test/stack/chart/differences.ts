import { isDeepStrictEqual } from 'node:util';

import { Document, isCollection, visit } from 'yaml';

import type { Manifest } from './manifest.js';

/** What names an item of a list, tried in turn: Kubernetes itself merges containers by name and constraints by topologyKey. */
const NAMES_OF_ITEMS = [
  kindAndName,
  kindAndPlace,
  ...['name', 'key', 'topologyKey', 'port'].map((key) => fieldNamed(key)),
];
const LONGEST_LINE = 180;
/** Characters of a collection as JSON that stands on one line. */
const LONGEST_FLOW = 110;

type NameOf = (item: unknown) => string | null;

/**
 * What tells two lists of objects apart, for people: the path of each change, with what was there and what is. Two lists that differ
 * from a third in the same way are equal, so a stored difference tests as much as a stored list.
 * @param formerName the name before of an object that has another one after
 */
export function differences(
  before: readonly object[],
  after: readonly object[],
  formerName = (name: string): string => name,
): string {
  if (isDeepStrictEqual(before, after)) return '';
  return betweenLists('', before, after, formerName).join('\n');
}

/** As YAML, the fields of each object sorted by name; what fits on a line stands on one. */
export function asYaml(value: unknown): string {
  const document = new Document(value, { sortMapEntries: true, aliasDuplicateObjects: false });
  visit(document, (_, node) => {
    if (!isCollection(node)) return;
    const json = JSON.stringify(node);
    node.flow = json.length <= LONGEST_FLOW && !json.includes('\\n');
  });
  return document.toString({ lineWidth: 0 }).trimEnd();
}

function between(path: string, before: unknown, after: unknown): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return betweenLists(path, before, after);
  if (!isMapping(before) || !isMapping(after)) return replaced(path, before, after);
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].sort().flatMap((name) => {
    const inside = `${path}${/^[\w-]+$/.test(name) ? `.${name}` : `["${name}"]`}`;
    if (!(name in after)) return [`${inside}: removed`];
    return name in before ? between(inside, before[name], after[name]) : added(inside, after[name]);
  });
}

/** By the names of the items if they have one each, else by their places. */
function betweenLists(
  path: string,
  before: readonly unknown[],
  after: readonly unknown[],
  formerName = (name: string): string => name,
): string[] {
  const named = NAMES_OF_ITEMS.map((nameOf) => ({
    before: before.map(nameOf),
    after: after.map((item) => nameOf(item)).map((name) => name && formerName(name)),
  }));
  const names = named.find((each) => tellsApart(each.before) && tellsApart(each.after));
  const entries = (items: readonly unknown[], known: readonly (string | null)[] = []) =>
    new Map(items.map((item, index) => [known[index] ?? String(index), item]));
  const [was, is] = [entries(before, names?.before), entries(after, names?.after)];
  const [left, right] = [[...was.keys()], [...is.keys()]];
  const kept = right.filter((name) => was.has(name));
  const isReordered = !isDeepStrictEqual(
    kept,
    left.filter((name) => is.has(name)),
  );
  return [
    ...left.flatMap((name) => (is.has(name) ? [] : [`${path}[${name}]: removed`])),
    ...(isReordered ? [`${path} is ordered ${kept.join(', ')}`] : []),
    ...right.flatMap((name, index) => {
      if (was.has(name)) return between(`${path}[${name}]`, was.get(name), is.get(name));
      const place = index === 0 ? 'first' : `after ${right[index - 1] ?? ''}`;
      return added(`${path}[${name}]`, is.get(name), names === undefined ? '' : place);
    }),
  ];
}

function tellsApart(names: readonly (string | null)[]): boolean {
  return !names.includes(null) && new Set(names).size === names.length;
}

/** `Deployment grantline` */
function kindAndName(item: unknown): string | null {
  if (!isMapping(item) || !isMapping(item['metadata'])) return null;
  const { name } = item['metadata'];
  return typeof name === 'string' ? `${String(item['kind'])} ${name}` : null;
}

/** `ConfigMap engine/rules` */
function kindAndPlace(item: unknown): string | null {
  const name = kindAndName(item)
    ?.split(' ')
    .join(` ${String((item as Manifest).metadata.namespace)}/`);
  return name ?? null;
}

function fieldNamed(key: string): NameOf {
  return (item) => {
    const value = isMapping(item) ? item[key] : undefined;
    return typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : null;
  };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function replaced(path: string, before: unknown, after: unknown): string[] {
  const line = `${path}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`;
  return line.length <= LONGEST_LINE ? [line] : [path, ...marked('-', before), ...marked('+', after)];
}

function added(path: string, value: unknown, place = ''): string[] {
  const [line = '', ...others] = asYaml(value).split('\n');
  const head = `${path}: added${place === '' ? '' : ` ${place}`}`;
  return others.length === 0 ? [`${head}: ${line}`] : [head, ...marked('+', value)];
}

function marked(sign: string, value: unknown): string[] {
  return asYaml(value)
    .split('\n')
    .map((line) => `  ${sign} ${line}`.trimEnd());
}
