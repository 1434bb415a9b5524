import { api, bodyOf, type Schemas } from './client.js';
import { submit, untilRows } from './statements.js';

export type Rows = Pick<Schemas['RowsResponse'], 'columns' | 'rows'>;

/** The first rows of a statement under one's own name; the rest is not asked for. @throws Error the engine's, or a Problem */
export async function firstRows(sql: string, most: number, signal: AbortSignal): Promise<Rows> {
  const query = await untilRows(await submit({ sql, catalog: '', schema: '' }));
  if (query.error !== null) throw new Error(query.error.message);
  const path = { id: query.id };
  const read: Rows = { columns: [], rows: [] };
  try {
    for (let after: string | null = ''; after !== null && read.rows.length < most;) {
      const part: { limit: number; after?: string } = { limit: most, ...(after !== '' && { after }) };
      const answer = await bodyOf(api.GET('/api/queries/{id}/rows', { params: { path, query: part }, signal }));
      // The other types of answers are of requests that ask for them.
      const page = answer as Schemas['RowsResponse'];
      if (page.columns.length > 0) read.columns = page.columns;
      read.rows.push(...page.rows);
      after = page.next;
    }
    return read;
  } finally {
    void api.DELETE('/api/queries/{id}', { params: { path } }).catch(() => undefined);
  }
}
