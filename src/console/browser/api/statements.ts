import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useRef, useState } from 'react';
import { now } from '../now.js';
import { api, bodyOf, Problem, type Schemas } from './client.js';
import { isSignedIn, noticeInterruption } from './session.js';

/** SQL text, and the catalog and schema of names without a path; may be empty. */
export interface Statement {
  sql: string;
  catalog: string;
  schema: string;
}

/** The rows of a statement, read as far as somebody has scrolled. */
export interface Results {
  statement: Statement;
  queryId: string;
  columns: readonly Schemas['QueryColumn'][];
  rows: readonly (readonly unknown[])[];
  next: string | null;
  at: Date;
  seconds: number;
}

/** Why the last statement has no results: the engine's error, or the service's problem. */
export type Fault = { query: Schemas['Query']; error: Schemas['QueryError'] } | { problem: Error };

interface State {
  /** The running statement; `submitting` until it has an id. */
  running: Schemas['Query'] | 'submitting' | null;
  fault: Fault | null;
  results: Results | null;
}

/** Maximum and minimum of rows in one read. */
const PART = { limit: 1000, least: 200 };

/** Runs one statement at a time. Results stay until there are newer ones. */
export function useStatement() {
  const [state, setState] = useState<State>({ running: null, fault: null, results: null });
  const isReading = useRef(false);
  // A query whose rows the engine still holds. It is cancelled when the page is left.
  const open = useRef<string | null>(null);
  const change = useCallback((part: Partial<State>) => setState((before) => ({ ...before, ...part })), []);
  useEffect(() => () => release(open), []);

  const run = async (statement: Statement): Promise<void> => {
    release(open);
    change({ running: 'submitting', fault: null });
    const begin = performance.now();
    try {
      const query = await untilRows(await submit(statement), (running) => {
        open.current = running.id;
        change({ running });
      });
      if (query.error !== null) {
        open.current = null;
        change({ running: null, fault: { query, error: query.error } });
        return;
      }
      const read = await readRows(query.id, null, PART);
      open.current = read.next === null ? null : query.id;
      const seconds = (performance.now() - begin) / 1000;
      change({ running: null, results: { statement, queryId: query.id, at: now(), seconds, ...read } });
    } catch (problem) {
      change({ running: null, fault: await faultOf(problem as Error, open.current) });
    }
  };

  const more = async ({ queryId, next }: Results): Promise<void> => {
    if (next === null || isReading.current) return;
    isReading.current = true;
    try {
      const read = await readRows(queryId, next, PART);
      if (read.next === null) open.current = null;
      setState((before) => ({
        ...before,
        results: before.results && { ...before.results, rows: [...before.results.rows, ...read.rows], next: read.next },
      }));
    } catch (problem) {
      change({ fault: await faultOf(problem as Error, queryId) });
    } finally {
      isReading.current = false;
    }
  };

  return { ...state, run, more, cancel: () => release(open), fail: (problem: Error) => change({ fault: { problem } }) };
}

/** @returns the query, which the engine has accepted */
export function submit({ sql, catalog, schema }: Statement): Promise<Schemas['Query']> {
  const session = catalog === '' ? {} : schema === '' ? { catalog } : { catalog, schema };
  return bodyOf(api.POST('/api/queries', { body: { sql, parameters: [], ...session } }));
}

/** Polls until there are rows or the query has ended. A failed query is returned, not thrown. */
async function untilRows(
  query: Schemas['Query'],
  report: (query: Schemas['Query']) => void = () => undefined,
): Promise<Schemas['Query']> {
  report(query);
  for (let pause = 50; query.columns === null && query.finished_at === null; pause = Math.min(2 * pause, 1000)) {
    await new Promise((wake) => setTimeout(wake, pause));
    query = await find(query.id);
    report(query);
  }
  return query;
}

function find(id: string): Promise<Schemas['Query']> {
  return bodyOf(api.GET('/api/queries/{id}', { params: { path: { id } } }));
}

export type Rows = Pick<Schemas['RowsResponse'], 'columns' | 'rows'>;

interface ReadOptions {
  /** Maximum of rows in one answer. */
  limit: number;
  /** Minimum of rows, unless the query has fewer. */
  least: number;
  signal?: AbortSignal;
}

/** @param after null: from the first row on */
async function readRows(id: string, after: string | null, { limit, least, signal }: ReadOptions) {
  const read = { columns: [], rows: [], next: after } as Rows & { next: string | null };
  do {
    const query = { limit, ...(read.next !== null && { after: read.next }) };
    const params = { path: { id }, query };
    const answer = await bodyOf(api.GET('/api/queries/{id}/rows', { params, ...(signal && { signal }) }));
    // The OpenAPI document also declares other types, for other Accept headers.
    const { columns, rows, next } = answer as Schemas['RowsResponse'];
    if (columns.length > 0) read.columns = columns;
    read.rows.push(...rows);
    read.next = next;
  } while (read.next !== null && read.rows.length < least);
  return read;
}

/** The first rows of a statement that runs as the signed-in person; the rest is discarded. @throws Error the engine's, or a Problem */
export async function readFirstRows(sql: string, most: number, signal: AbortSignal): Promise<Rows> {
  const { id, error } = await untilRows(await submit({ sql, catalog: '', schema: '' }));
  if (error !== null) throw new Error(error.message);
  try {
    return await readRows(id, null, { limit: most, least: most, signal });
  } finally {
    giveUp(id);
  }
}

/** Columns of a table and their types, as the engine lists them for the signed-in person. @param path as SQL; empty: none */
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

function giveUp(id: string): void {
  void api.DELETE('/api/queries/{id}', { params: { path: { id } } }).catch(() => undefined);
}

/** A query that ends while its rows are read has its error in the query. */
async function faultOf(problem: Error, id: string | null): Promise<Fault> {
  noticeInterruption(problem); // statements do not go through the query cache, which does this elsewhere
  const isEnd = problem instanceof Problem && /^query_(failed|cancelled)$/.test(problem.code);
  const query = isEnd && id !== null ? await find(id).catch(() => null) : null;
  return query?.error ? { query, error: query.error } : { problem };
}

function release(open: { current: string | null }): void {
  const id = open.current;
  open.current = null;
  // After a sign-out the request would be refused; the service ends the query when nobody reads it.
  if (id !== null && isSignedIn()) giveUp(id);
}
