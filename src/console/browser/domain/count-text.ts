import type { Schemas } from '../api/client.js';

/** A number with separators: *1,204*. */
export function numberText(number: number): string {
  return number.toLocaleString('en-GB');
}

/** A count with its noun: *1 grant*, *1,204 grants*. With `hasMore`, which means that further items have not been read yet: *200 and more policies*. */
export function countText(
  count: number,
  noun: string,
  { plural = `${noun}s`, hasMore = false }: { plural?: string; hasMore?: boolean } = {},
) {
  return `${numberText(count)}${hasMore ? ' and more' : ''} ${count === 1 && !hasMore ? noun : plural}`;
}

interface ListState {
  /** The entries read so far; null: no page of the list has been read yet. */
  items: readonly unknown[] | null;
  hasMore: boolean;
}

/** The state of a list: *Reading grants*, *12 grants*, *200 and more grants*. */
export function listText({ items, hasMore }: ListState, noun: string, plural = `${noun}s`): string {
  return items === null ? `Reading ${plural}` : countText(items.length, noun, { plural, hasMore });
}

/** A number of breaches in words: *1 breach*, *2 breaches*. */
export function breachesText(count: number): string {
  return countText(count, 'breach', { plural: 'breaches' });
}

/** A number of people in words: *1 person*, *8 people*. */
export function peopleText(count: number): string {
  return countText(count, 'person', { plural: 'people' });
}

/** Numbers of principals with access to a node, by kind, as the API gives them. */
export type HolderCounts = Pick<Schemas['HolderWayResponse'], 'people' | 'engine_principals'>;

export function holderCount({ people, engine_principals: enginePrincipals }: HolderCounts): number {
  return people + enginePrincipals;
}

/** Numbers of principals in words: *8 people, 1 engine principal*. */
export function holdersText({ people, engine_principals: enginePrincipals }: HolderCounts): string {
  const engineText = enginePrincipals === 0 ? '' : `, ${countText(enginePrincipals, 'engine principal')}`;
  return peopleText(people) + engineText;
}

/** A number of people with a verb: *1 person gains*, *8 people gain*. */
export function peopleVerbText(count: number, verb: string): string {
  return `${peopleText(count)} ${verb}${count === 1 ? 's' : ''}`;
}

/** A hint at matches that are not listed: *More match: groups and 9,980 people. …* @param unlistedTexts the matches: *groups*, *9,980 people* */
export function moreText(unlistedTexts: readonly string[]): string | null {
  return unlistedTexts.length === 0 ? null : `More match: ${unlistedTexts.join(' and ')}. Type more of the name.`;
}

/** A size in words: *307.4 KiB*, *812 B*. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB'];
  return `${size.toFixed(1)} ${unit}`;
}
