import { isDeepStrictEqual } from 'node:util';

import { stringify } from 'yaml';

import type { Manifest } from './manifest.js';

/** What names an item of a list, tried in turn: Kubernetes itself merges containers by name and constraints by topologyKey. */
const NAMES_OF_ITEMS = [
  kindAndName,
  kindAndPlace,
  ...['name', 'key', 'topologyKey', 'port'].map((key) => fieldNamed(key)),
];
const LONGEST_LINE = 180;

type NameOf = (item: unknown) => string | null;

/**
 * What tells two lists of objects apart, for people: the path of each change, with what was there and what is. Two lists that differ
 * from a third in the same way are equal, so a stored difference tests as much as a stored list.
 */
export function differences(before: readonly object[], after: readonly object[]): string {
  return between('', before, after).join('\n');
}

/** As YAML, the fields of each object sorted by name. */
export function asYaml(value: unknown): string {
  return stringify(value, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false }).trimEnd();
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
function betweenLists(path: string, before: readonly unknown[], after: readonly unknown[]): string[] {
  const nameOf = NAMES_OF_ITEMS.find((candidate) => [before, after].every((items) => tellsApart(candidate, items)));
  const entries = (items: readonly unknown[]) =>
    new Map(items.map((item, index) => [nameOf?.(item) ?? String(index), item]));
  const [was, is] = [entries(before), entries(after)];
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
      return added(`${path}[${name}]`, is.get(name), nameOf === undefined ? '' : place);
    }),
  ];
}

function tellsApart(nameOf: NameOf, items: readonly unknown[]): boolean {
  const names = items.map(nameOf);
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
  return [`${path}: added${place === '' ? '' : ` ${place}`}`, ...marked('+', value)];
}

function marked(sign: string, value: unknown): string[] {
  return asYaml(value)
    .split('\n')
    .map((line) => `  ${sign} ${line}`.trimEnd());
}
