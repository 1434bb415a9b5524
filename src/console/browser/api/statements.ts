import { useCallback, useEffect, useRef, useState } from 'react';
import { now } from '../now.js';
import { api, bodyOf, Problem, type Schemas } from './client.js';
import { isSignedIn, noticeInterruption } from './session.js';

/** SQL text, and where names without a path are looked up; empty: nowhere. */
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
  /** Of the statement that runs; `submitting` until it has an id. */
  running: Schemas['Query'] | 'submitting' | null;
  fault: Fault | null;
  results: Results | null;
}

const FIRST_ROWS = 200;

/** Runs one statement at a time. Results stay until there are newer ones. */
export function useStatement() {
  const [state, setState] = useState<State>({ running: null, fault: null, results: null });
  const isReading = useRef(false);
  // What the engine still holds for this page ends with it.
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
      const read = await readRows(query.id, undefined);
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
      const read = await readRows(queryId, next);
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

/** Asks until there are rows to read or the query has ended: a failed one is an answer here, and not a refusal. */
export async function untilRows(
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

async function readRows(id: string, after: string | undefined): Promise<Pick<Results, 'columns' | 'rows' | 'next'>> {
  let read: Pick<Results, 'columns' | 'rows' | 'next'> = { columns: [], rows: [], next: after ?? null };
  do {
    const query = read.next === null ? { limit: 1000 } : { limit: 1000, after: read.next };
    const page = await bodyOf(api.GET('/api/queries/{id}/rows', { params: { path: { id }, query } }));
    const { columns, rows, next } = page as Schemas['RowsResponse'];
    read = { columns, rows: [...read.rows, ...rows], next };
  } while (read.next !== null && read.rows.length < FIRST_ROWS);
  return read;
}

/** A query that ends while its rows are read has its error in the query. */
async function faultOf(problem: Error, id: string | null): Promise<Fault> {
  noticeInterruption(problem); // statements are asked past the caches that notice it
  const isEnd = problem instanceof Problem && /^query_(failed|cancelled)$/.test(problem.code);
  const query = isEnd && id !== null ? await find(id).catch(() => null) : null;
  return query?.error ? { query, error: query.error } : { problem };
}

function release(open: { current: string | null }): void {
  const id = open.current;
  open.current = null;
  // After a sign-out nobody may: the service gives up what nobody reads.
  if (id !== null && isSignedIn())
    void api.DELETE('/api/queries/{id}', { params: { path: { id } } }).catch(() => undefined);
}
