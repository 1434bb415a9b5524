/** The last query of a page of a user's list. Survives inserts and deletes. */
export interface QueryCursor {
  createdAt: Date;
  id: string;
}

export function writeQueryCursor({ createdAt, id }: QueryCursor): string {
  return Buffer.from(`${createdAt.getTime().toString(36)}.${id}`).toString('base64url');
}

/** Null: no cursor of ours. */
export function readQueryCursor(text: string): QueryCursor | null {
  const [, time, id] =
    /^([\da-z]{1,9})\.([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/.exec(
      Buffer.from(text, 'base64url').toString('latin1'),
    ) ?? [];
  if (time === undefined || id === undefined) return null;
  const cursor = { createdAt: new Date(parseInt(time, 36)), id };
  return isValid(cursor.createdAt) && writeQueryCursor(cursor) === text ? cursor : null;
}

function isValid(date: Date): boolean {
  return !Number.isNaN(date.getTime());
}
