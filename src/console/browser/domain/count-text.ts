import type { Schemas } from '../api/client.js';

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

export function breachesText(count: number): string {
  return countText(count, 'breach', { plural: 'breaches' });
}

export function peopleText(count: number): string {
  return countText(count, 'person', { plural: 'people' });
}

export type HolderCounts = Pick<Schemas['HolderWayResponse'], 'people' | 'engine_principals'>;

export function holderCount({ people, engine_principals: enginePrincipals }: HolderCounts): number {
  return people + enginePrincipals;
}

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

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB'];
  return `${size.toFixed(1)} ${unit}`;
}
