/** A piece of a list that is ordered by an integer key. `after` is the key of the last item that the caller has. */
export interface PageRequest {
  limit: number;
  after: number | null;
}

export interface Page<T> {
  items: T[];
  /** Hand it back as `after`; null: that was all. */
  next: string | null;
}

/** The page out of `limit + 1` rows: the one more only tells that there is more. */
export function pageOf<T>(rows: readonly T[], limit: number, keyOf: (row: T) => number): Page<T> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? cursorOf(keyOf(last)) : null };
}

/** Opaque, so that nobody builds on what is inside. */
export function cursorOf(key: number): string {
  return Buffer.from(`after:${key}`).toString('base64url');
}

/** Null: not a cursor of ours. */
export function keyOfCursor(cursor: string): number | null {
  const [, digits] = /^after:([0-9]{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  return digits !== undefined && cursorOf(Number(digits)) === cursor ? Number(digits) : null;
}
