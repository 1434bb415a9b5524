import { type EngineError, readEngineError } from './engine-error.js';
import { type Column, readColumns } from './engine-type.js';
import { parseExactly } from './exact-json.js';
import { pinned } from './next-uri.js';
import { ProtocolBreach, isObject, numberOrNull, readList, readObject, readText, textOrNull } from './reading.js';

/** One answer of the statement endpoint, read. */
export interface StatementPage {
  queryId: string;
  /** Where the next page is, on the configured origin; null: this was the last. A capability: never logged. */
  nextPath: string | null;
  /** Known from some page on, and then on every page. */
  columns: readonly Column[] | null;
  /** As in JSON, long integers as text; see engine-value.ts. */
  rows: readonly unknown[];
  /** The engine's word: QUEUED, PLANNING, RUNNING, FINISHED, … Only `nextPath` and `error` decide anything. */
  engineState: string;
  /** From 0 to 100; null while the engine cannot say. */
  progressPercent: number | null;
  error: EngineError | null;
  /** INSERT, CREATE TABLE, SET SESSION, …; null for what only reads. It comes before the first row does. */
  updateType: string | null;
  updateCount: bigint | null;
}

/** @throws ProtocolBreach when this is no answer of the statement endpoint. */
export function readStatementPage(text: string): StatementPage {
  const page = readObject(parsed(text), 'the answer');
  const stats = isObject(page['stats']) ? page['stats'] : {};
  const { nextUri, columns, data, error, updateCount } = page;
  return {
    queryId: readText(page['id'], 'the query id'),
    nextPath: nextUri === undefined || nextUri === null ? null : pinned(readText(nextUri, 'nextUri')),
    columns: columns === undefined || columns === null ? null : readColumns(columns),
    // The spooled protocol puts an object here, but only for those who ask for it.
    rows: data === undefined || data === null ? [] : readList(data, 'data'),
    engineState: textOrNull(stats['state']) ?? 'UNKNOWN',
    progressPercent: numberOrNull(stats['progressPercentage']),
    error: error === undefined || error === null ? null : readEngineError(error),
    updateType: textOrNull(page['updateType']),
    updateCount: readCount(updateCount),
  };
}

function parsed(text: string): unknown {
  try {
    return parseExactly(text);
  } catch (cause) {
    throw new ProtocolBreach('the answer is no JSON', { cause });
  }
}

/** A long integer, which exact reading has turned into text where it is very large. */
function readCount(value: unknown): bigint | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  return typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : null;
}
