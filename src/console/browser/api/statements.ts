import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { now } from '../now.js';
import { api, bodyOf, Problem, type Schemas } from './client.js';
import { isSignedIn, handleInterruption } from './session.js';

/** SQL text, and the catalog and schema in which the engine looks up unqualified names. All may be empty. */
export interface Statement {
  sql: string;
  catalog: string;
  schema: string;
}

/** The rows of a statement that have been read so far. */
export interface Results {
  statement: Statement;
  queryId: string;
  columns: readonly Schemas['QueryColumn'][];
  rows: readonly (readonly unknown[])[];
  nextCursor: string | null;
  /** Whether the service's limit of rows (QUERY_MAX_ROWS) ended the results. */
  isTruncated: boolean;
  readAt: Date;
  durationSeconds: number;
}

/** Why the last statement has no results, or no further rows: the engine's error, or the service's problem. */
export type StatementFault =
  | { query: Schemas['Query']; error: Schemas['QueryError'] }
  | { problem: Error; retry?: () => void };

interface StatementState {
  /** The running statement; `submitting` until it has an id. */
  runningQuery: Schemas['Query'] | 'submitting' | null;
  fault: StatementFault | null;
  results: Results | null;
}

/** Rows of one read: at most 1,000 in each answer. All answers of the read together have at least 200 rows, or all remaining rows. */
const READ_SIZE = { limit: 1000, minRows: 200 };

/** Runs one statement at a time. Its results are shown until the next statement has results. */
export function useStatement() {
  const [state, setState] = useState<StatementState>({ runningQuery: null, fault: null, results: null });
  const readQueryId = useRef<string | null>(null);
  // The query whose rows the engine still holds. It is cancelled when the page closes.
  const openQueryId = useRef<string | null>(null);
  const changeState = (changes: Partial<StatementState>) => setState((lastState) => ({ ...lastState, ...changes }));
  useEffect(() => () => cancelOpenQuery(openQueryId), []);

  const run = async (statement: Statement): Promise<void> => {
    cancelOpenQuery(openQueryId);
    changeState({ runningQuery: 'submitting', fault: null });
    const startedAt = performance.now();
    try {
      const query = await waitForRows(await submitStatement(statement), (query) => {
        openQueryId.current = query.id;
        changeState({ runningQuery: query });
      });
      if (query.error !== null) {
        openQueryId.current = null;
        changeState({ runningQuery: null, fault: { query, error: query.error } });
        return;
      }
      const page = await readResultRows(query.id, null);
      openQueryId.current = page.nextCursor === null ? null : query.id;
      const durationSeconds = (performance.now() - startedAt) / 1000;
      const results = { statement, queryId: query.id, readAt: now(), durationSeconds, ...page };
      changeState({ runningQuery: null, results });
    } catch (problem) {
      changeState({ runningQuery: null, fault: await faultOf(problem as Error, openQueryId.current) });
    }
  };

  const readMore = async (lastResults: Results): Promise<void> => {
    const { queryId, nextCursor } = lastResults;
    if (nextCursor === null || readQueryId.current === queryId || state.fault !== null) return;
    readQueryId.current = queryId;
    // A new statement has cancelled this query: its late rows or failure belong to nothing on the page.
    const isReplaced = (): boolean => openQueryId.current !== queryId;
    try {
      const page = await readResultRows(queryId, nextCursor);
      if (isReplaced()) return;
      if (page.nextCursor === null) openQueryId.current = null;
      setState(({ results, ...state }) => {
        const { columns: _, rows, ...ending } = page;
        return { ...state, results: results && { ...results, ...ending, rows: [...results.rows, ...rows] } };
      });
    } catch (problem) {
      if (isReplaced()) return;
      const fault = await faultOf(problem as Error, queryId);
      const retry = (): void => {
        changeState({ fault: null });
        void readMore(lastResults);
      };
      changeState({ fault: 'problem' in fault ? { ...fault, retry } : fault });
    } finally {
      if (readQueryId.current === queryId) readQueryId.current = null;
    }
  };

  const showFailure = (problem: Error): void => changeState({ fault: { problem } });
  return { ...state, run, readMore, cancel: () => cancelOpenQuery(openQueryId), showFailure };
}

/** Submits a statement. @returns the query that the engine has accepted */
export function submitStatement({ sql, catalog, schema }: Statement): Promise<Schemas['Query']> {
  const namespace = catalog === '' ? {} : schema === '' ? { catalog } : { catalog, schema };
  return bodyOf(api.POST('/api/queries', { body: { sql, parameters: [], ...namespace } }));
}

/** Polls until there are rows or the query has ended. A failed query is returned, not thrown. */
async function waitForRows(
  query: Schemas['Query'],
  onProgress: (query: Schemas['Query']) => void = () => undefined,
): Promise<Schemas['Query']> {
  onProgress(query);
  for (let delayMs = 50; query.columns === null && query.finished_at === null; delayMs = Math.min(2 * delayMs, 1000)) {
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    query = await readQuery(query.id);
    onProgress(query);
  }
  return query;
}

function readQuery(id: string): Promise<Schemas['Query']> {
  return bodyOf(api.GET('/api/queries/{id}', { params: { path: { id } } }));
}

export type Rows = Pick<Schemas['RowsResponse'], 'columns' | 'rows'>;

/** The most rows of one answer, and the least of all answers together, unless the query has fewer. */
interface ReadOptions {
  limit: number;
  minRows: number;
  signal?: AbortSignal;
}

/** Reads rows of a query. @param startCursor the cursor of the next rows; null: from the first row on */
async function readRows(id: string, startCursor: string | null, { limit, minRows, signal }: ReadOptions) {
  const result = { columns: [], rows: [], nextCursor: startCursor } as Rows & { nextCursor: string | null };
  do {
    const query = { limit, ...(result.nextCursor !== null && { after: result.nextCursor }) };
    const params = { path: { id }, query };
    const answer = await bodyOf(api.GET('/api/queries/{id}/rows', { params, ...(signal && { signal }) }));
    // The OpenAPI document also declares other types, for other Accept headers.
    const { columns, rows, next } = answer as Schemas['RowsResponse'];
    if (columns.length > 0) result.columns = columns;
    result.rows.push(...rows);
    result.nextCursor = next;
  } while (result.nextCursor !== null && result.rows.length < minRows);
  return result;
}

/** Reads rows to show. After the last rows, the query says whether there were more than the service's limit. */
async function readResultRows(id: string, startCursor: string | null) {
  const page = await readRows(id, startCursor, READ_SIZE);
  const query = page.nextCursor === null ? await readQuery(id).catch(() => null) : null;
  return { ...page, isTruncated: query?.truncated === true };
}

/** The first rows of a statement, which runs as the signed-in person. Further rows are dropped. @throws Problem, or Error with the engine's message */
export async function readFirstRows(sql: string, maxRows: number, signal: AbortSignal): Promise<Rows> {
  const { id, error } = await waitForRows(await submitStatement({ sql, catalog: '', schema: '' }));
  if (error !== null) throw new Error(error.message);
  try {
    return await readRows(id, null, { limit: maxRows, minRows: maxRows, signal });
  } finally {
    cancelQuery(id);
  }
}

/** Columns of a table and their types, as the engine lists them for the signed-in person. @param path path of the table as SQL; empty: nothing is read */
export function useColumns(path: string): { name: string; type: string }[] {
  const { data = [] } = useQuery({
    queryKey: ['rows', 'columns', path],
    enabled: path !== '',
    staleTime: 60_000,
    queryFn: ({ signal }) => readFirstRows(`SHOW COLUMNS FROM ${path}`, 1000, signal),
    select: ({ rows }) => rows.map(([name, type]) => ({ name: String(name), type: String(type) })),
  });
  return data;
}

function cancelQuery(id: string): void {
  void api.DELETE('/api/queries/{id}', { params: { path: { id } } }).catch(() => undefined);
}

/** The fault to show for a failed request. If the query ended while its rows were read, this is the error of the query. */
async function faultOf(problem: Error, id: string | null): Promise<StatementFault> {
  handleInterruption(problem); // elsewhere the query cache does this, but statements do not use it
  const isQueryEnded = problem instanceof Problem && /^query_(failed|cancelled)$/.test(problem.code);
  const query = isQueryEnded && id !== null ? await readQuery(id).catch(() => null) : null;
  return query?.error ? { query, error: query.error } : { problem };
}

function cancelOpenQuery(openQueryId: { current: string | null }): void {
  const id = openQueryId.current;
  openQueryId.current = null;
  // After a sign-out this request would be refused, so it is not sent. The service itself ends queries that are not read.
  if (id !== null && isSignedIn()) cancelQuery(id);
}
