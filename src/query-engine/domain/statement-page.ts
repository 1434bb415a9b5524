import { NamedError } from '../../kernel/named-error.js';
import { type EngineError, readEngineError } from './engine-error.js';
import { type Column, readColumns } from './engine-type.js';
import { readExactly } from './exact-json.js';
import { JsonScanner } from './json-scanner.js';
import { pinned } from './next-uri.js';
import { PageRows } from './page-rows.js';
import { ProtocolBreach, isObject, numberOrNull, readObject, readText, textOrNull } from './reading.js';
import type { RowLoop } from './row-loop.js';
import { areScalars, UnscannedRows } from './unscanned-rows.js';

/** One answer of the statement endpoint, read. */
export interface StatementPage {
  queryId: string;
  /** Where the next page is, on the configured origin; null: this was the last. A capability: never logged. */
  nextPath: string | null;
  /** Known from some page on, and then on every page. */
  columns: readonly Column[] | null;
  rows: PageRows;
  /** The rows, where they were not looked through: `rows` is then empty. Only for readers that take all of them, once. */
  unscanned: UnscannedRows | null;
  /** QUEUED, PLANNING, RUNNING, FINISHED, … For display: only `nextPath` and `error` decide anything. */
  engineState: string;
  /** From 0 to 100; null while the engine reports none. */
  progressPercent: number | null;
  error: EngineError | null;
  /** INSERT, CREATE TABLE, SET SESSION, …; null for what only reads. It comes before the first row does. */
  updateType: string | null;
  updateCount: bigint | null;
}

/**
 * Reads one answer, its rows as bytes.
 * @param heaviestRow heap bytes that a row may take once it is parsed.
 * @param readsInOrder its rows are read once, in order: those of scalars are not looked through.
 * @param loop that finds rows; null: they are found one by one.
 * @param base as `pinned` has it.
 * @throws ProtocolBreach when this is no answer of the statement endpoint.
 * @throws PageTooHeavy
 */
export function readStatementPage(
  body: Buffer,
  heaviestRow = Infinity,
  readsInOrder = false,
  loop: RowLoop | null = null,
  base = '',
): StatementPage {
  const { envelope, columns, rows, unscanned } = split(body, heaviestRow, readsInOrder, loop);
  const page = readObject(envelope, 'the answer');
  const stats = isObject(page['stats']) ? page['stats'] : {};
  const { nextUri, data, error, updateCount } = page;
  if (data !== undefined && data !== null) throw new ProtocolBreach('data is not a list');
  return {
    queryId: readQueryId(page['id']),
    nextPath: nextUri === undefined || nextUri === null ? null : pinned(readText(nextUri, 'nextUri'), base),
    columns,
    rows,
    unscanned,
    engineState: wordOrNull(stats['state']) ?? 'UNKNOWN',
    progressPercent: numberOrNull(stats['progressPercentage']),
    error: error === undefined || error === null ? null : readEngineError(error),
    updateType: wordOrNull(page['updateType']),
    updateCount: readCount(updateCount),
  };
}

/** A page within its limit of bytes that would take far more once it is parsed. */
export class PageTooHeavy extends NamedError {}

/**
 * Heap bytes of everything beside the rows once it is parsed: some 16,000 columns, which are kept as long as the query runs. No
 * table is as wide, but `SELECT 1, 1, …` of a few hundred kilobytes is.
 */
const HEAVIEST_ENVELOPE = 8 * 1_048_576;

/** The rows as bytes, and everything beside them parsed, the columns first: the engine writes them before the rows. */
function split(
  body: Buffer,
  heaviestRow: number,
  readsInOrder: boolean,
  loop: RowLoop | null,
): { envelope: unknown } & Pick<StatementPage, 'columns' | 'rows' | 'unscanned'> {
  const scanner = new JsonScanner(body);
  const members: string[] = [];
  let columns: readonly Column[] | null = null;
  let rows = PageRows.NONE;
  let unscanned: UnscannedRows | null = null;
  let weight = 0;
  scanner.expect('{');
  const isEmpty = scanner.takes('}');
  for (let more = !isEmpty; more; more = scanner.takes(',')) {
    const key = textOf(scanner);
    scanner.expect(':');
    if (key === '"data"' && scanner.isAt('[')) {
      unscanned = readsInOrder && areScalars(columns) ? UnscannedRows.take(scanner, heaviestRow) : null;
      rows = unscanned === null ? PageRows.scan(scanner, loop) : PageRows.NONE;
      if (rows.heaviest > heaviestRow) throw new PageTooHeavy('it would take too much memory');
      continue;
    }
    const value = textOf(scanner);
    weight += scanner.weight;
    if (weight > HEAVIEST_ENVELOPE) throw new PageTooHeavy('it would take too much memory');
    if (key === '"columns"') columns = value === 'null' ? null : readColumns(readExactly(value));
    else members.push(`${key}:${value}`);
  }
  if (!isEmpty) scanner.expect('}');
  scanner.expectEnd();
  return { envelope: readExactly(`{${members.join(',')}}`), columns, rows, unscanned };
}

function textOf(scanner: JsonScanner): string {
  const start = scanner.skipValue();
  return scanner.bytes.toString('utf8', start, scanner.at);
}

/** Many times as long as the engine writes ids, states and update types (UTF-16 units). */
const LONGEST_WORD = 200;

/** @throws ProtocolBreach */
function readQueryId(value: unknown): string {
  const id = readText(value, 'the query id');
  if (id.length > LONGEST_WORD) throw new ProtocolBreach('a query id that is too long');
  return id;
}

/** Cut off where it is too long. */
function wordOrNull(value: unknown): string | null {
  return textOrNull(value)?.slice(0, LONGEST_WORD) ?? null;
}

/** The range of the engine's `long`, and of our column. */
const LARGEST_COUNT = 2n ** 63n - 1n;

/** A long integer, which exact reading has turned into text where it is very large. @throws ProtocolBreach */
function readCount(value: unknown): bigint | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return null;
  // Without looking at its length first, a number of megabytes would take seconds.
  const count = value.length > 19 ? null : BigInt(value);
  if (count === null || count > LARGEST_COUNT) throw new ProtocolBreach('an update count beyond 63 bits');
  return count;
}
