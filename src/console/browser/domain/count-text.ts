/** *1,204*. */
export function numberText(number: number): string {
  return number.toLocaleString('en-GB');
}

interface CountTextOptions {
  plural?: string;
  /** Whether there are items that have not been read yet. */
  hasMore?: boolean;
}

/** *1 grant*, *1,204 grants*, *200 and more policies*. */
export function countText(
  count: number,
  word: string,
  { plural = `${word}s`, hasMore = false }: CountTextOptions = {},
) {
  return `${numberText(count)}${hasMore ? ' and more' : ''} ${count === 1 && !hasMore ? word : plural}`;
}

interface List {
  /** Null: no page of the list has been read yet. */
  items: readonly unknown[] | null;
  hasMore: boolean;
}

/** The state of a list: *Reading grants*, *12 grants*, *200 and more grants*. */
export function listText({ items, hasMore }: List, word: string, plural = `${word}s`): string {
  return items === null ? `Reading ${plural}` : countText(items.length, word, { plural, hasMore });
}

/** *1 person*, *8 people*. */
export function peopleText(count: number): string {
  return countText(count, 'person', { plural: 'people' });
}

/** Holders of a node by their kind, as the API counts them. */
export interface Counted {
  people: number;
  engine_principals: number;
}

export function sizeOf({ people, engine_principals: engine }: Counted): number {
  return people + engine;
}

/** *8 people, 1 engine principal*. */
export function holdersText({ people, engine_principals: engine }: Counted): string {
  return [peopleText(people), ...(engine === 0 ? [] : [countText(engine, 'engine principal')])].join(', ');
}

/** *1 person gains*, *8 people gain*. */
export function peopleWho(count: number, verb: string): string {
  return `${peopleText(count)} ${verb}${count === 1 ? 's' : ''}`;
}

/** A text about matches that are not listed: *More match: groups and 9,980 people. …* */
export function moreText(left: readonly string[]): string | null {
  return left.length === 0 ? null : `More match: ${left.join(' and ')}. Type more of the name.`;
}

/** *307.4 KiB*, *812 B*. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [size, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB'];
  return `${size.toFixed(1)} ${unit}`;
}
