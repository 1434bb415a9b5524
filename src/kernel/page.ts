/** A request for a page of a list. `after` is the key (PageKey) of the last item of the previous page; null: the first page. */
export interface PageRequest<Key = number> {
  limit: number;
  after: Key | null;
}

export type NamePageRequest = PageRequest<readonly string[]>;

export interface Page<T> {
  items: T[];
  /** Cursor for `after`; null: this is the last page. */
  next: string | null;
}

/** The position of an item in its list: the integer or the names that the list is ordered by. */
export type PageKey = number | readonly string[];

/** Makes a page of up to `limit + 1` rows. The additional row only shows that there is a next page. */
export function pageOf<T>(rows: readonly T[], limit: number, keyOf: (row: T) => PageKey): Page<T> {
  const items = rows.slice(0, limit);
  const lastItem = items.at(-1);
  return { items, next: rows.length > limit && lastItem !== undefined ? cursorOf(keyOf(lastItem)) : null };
}

export function mapPage<T, R>({ items, next }: Page<T>, map: (item: T) => R): Page<R> {
  return { items: items.map((item) => map(item)), next };
}

/** The cursor of a key, opaque so that clients do not depend on its content. */
export function cursorOf(key: PageKey): string {
  return Buffer.from(typeof key === 'number' ? `after:${key}` : JSON.stringify(key)).toString('base64url');
}

/** The integer in a cursor of a list that is sorted by integers; null: the cursor is invalid. */
export function keyOfCursor(cursor: string): number | null {
  const [, digits] = /^after:([0-9]{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  return digits !== undefined && cursorOf(Number(digits)) === cursor ? Number(digits) : null;
}

/** The names in a cursor of a list that is sorted by names. Null for an invalid cursor, and for a NUL, which PostgreSQL cannot store. */
export function namesOfCursor(cursor: string): string[] | null {
  try {
    const names: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const isNameList = Array.isArray(names) && names.every((name) => typeof name === 'string' && !name.includes('\0'));
    return isNameList && cursorOf(names) === cursor ? names : null;
  } catch {
    return null;
  }
}
