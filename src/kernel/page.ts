/** A request for a page of a list. `after` is the key of the last item of the previous page; of names, the most significant first. */
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

/** The place of an item in the order of its list: an integer, or names, the most significant first. */
export type PageKey = number | readonly string[];

/** The page of `limit + 1` rows: the additional row shows that there is a next page. */
export function pageOf<T>(rows: readonly T[], limit: number, keyOf: (row: T) => PageKey): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? cursorOf(keyOf(last)) : null };
}

export function mapPage<T, R>({ items, next }: Page<T>, map: (item: T) => R): Page<R> {
  return { items: items.map((item) => map(item)), next };
}

/** Opaque, so that clients do not depend on its content. */
export function cursorOf(key: PageKey): string {
  return Buffer.from(typeof key === 'number' ? `after:${key}` : JSON.stringify(key)).toString('base64url');
}

/** Null: an invalid cursor. */
export function keyOfCursor(cursor: string): number | null {
  const [, digits] = /^after:([0-9]{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  return digits !== undefined && cursorOf(Number(digits)) === cursor ? Number(digits) : null;
}

/** Null: the cursor is not one of ours, or holds a NUL, which no text of PostgreSQL has. */
export function namesOfCursor(cursor: string): string[] | null {
  try {
    const names: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    const isOurs = Array.isArray(names) && names.every((name) => typeof name === 'string' && !name.includes('\0'));
    return isOurs && cursorOf(names) === cursor ? names : null;
  } catch {
    return null;
  }
}
