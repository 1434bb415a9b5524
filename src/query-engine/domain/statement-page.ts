import { NamedError } from '../../kernel/errors.js';
import { type EngineError, readEngineError } from './engine-error.js';
import { type Column, readColumns } from './engine-type.js';
import { JsonScanner, parseWithoutRounding } from './json-scanner.js';
import { PageRows } from './page-rows.js';
import { isObject } from '../../kernel/json-reader.js';
import { ProtocolBreach, numberOrNull, readText, textOrNull } from './reading.js';
import type { RowLoop } from './row-loop.js';

/** A parsed answer of the statement endpoint. */
export interface StatementPage {
  queryId: string;
  /** Path of the next page on the configured origin, a capability that is never logged. Null on the last page. */
  nextPath: string | null;
  /** The columns of the result. The engine's first pages have none (null); all later pages have them. */
  columns: readonly Column[] | null;
  rows: PageRows;
  /** QUEUED, PLANNING, RUNNING, FINISHED, … For display only: `nextPath` and `error` decide what happens. */
  engineState: string;
  /** From 0 to 100; null while the engine reports none. */
  progressPercent: number | null;
  error: EngineError | null;
  /** The number of rows that the statement changed. The page with the row that says so has it already. Null: the statement counts none. */
  updateCount: bigint | null;
}

/**
 * Parses one answer, except its rows, which stay bytes.
 * @param maxRowHeapBytes the most heap bytes that a row may take once it is parsed.
 * @param rowLoop finds many rows at once; null: the rows are found one by one.
 * @param basePath path below which a gateway serves the engine; empty: at the root.
 * @throws ProtocolBreach for anything but an answer of the statement endpoint. @throws ParsedPageTooLarge
 */
export function readStatementPage(
  body: Buffer,
  maxRowHeapBytes = Infinity,
  rowLoop: RowLoop | null = null,
  basePath = '',
): StatementPage {
  const { envelope, rows } = splitAnswer(body, maxRowHeapBytes, rowLoop);
  const fieldOf = (name: string): unknown => envelope.get(name) ?? null;
  const [stats, nextUri, columns, error] = ['stats', 'nextUri', 'columns', 'error'].map(fieldOf);
  const { state, progressPercentage } = isObject(stats) ? stats : {};
  if (fieldOf('data') !== null) throw new ProtocolBreach('data is not a list');
  const queryId = readText(fieldOf('id'), 'the query id');
  if (queryId.length > MAX_WORD_LENGTH) throw new ProtocolBreach('a query id that is too long');
  return {
    queryId,
    nextPath: nextUri === null ? null : pathOfNextUri(readText(nextUri, 'nextUri'), basePath),
    columns: columns === null ? null : readColumns(columns),
    rows,
    engineState: wordOrNull(state) ?? 'UNKNOWN',
    progressPercent: numberOrNull(progressPercentage),
    error: error === null ? null : readEngineError(error),
    updateCount: readCount(fieldOf('updateCount')),
  };
}

/** Thrown for a page that is within the limit of bytes, but would take far more memory once it is parsed. */
export class ParsedPageTooLarge extends NamedError {}

/**
 * The most heap bytes of a parsed answer without its rows: about 16,000 columns, which stay in memory as long as the query runs. No
 * table has as many columns, but a long `SELECT 1, 1, …` has.
 */
const MAX_ENVELOPE_HEAP_BYTES = 8 * 1_048_576;

/** Splits an answer into its rows as bytes and everything else parsed. */
function splitAnswer(
  body: Buffer,
  maxRowHeapBytes: number,
  rowLoop: RowLoop | null,
): { envelope: ReadonlyMap<string, unknown>; rows: PageRows } {
  const scanner = new JsonScanner(body);
  const envelope = new Map<string, unknown>();
  let rows = PageRows.NONE;
  let heapBytes = 0;
  scanner.expect('{');
  const isEmpty = scanner.skipIf('}');
  for (let hasMore = !isEmpty; hasMore; hasMore = scanner.skipIf(',')) {
    const keyStart = scanner.skipValue();
    const [key] = parseWithoutRounding(body.subarray(keyStart, scanner.position));
    if (typeof key !== 'string') throw new ProtocolBreach('the answer is not JSON');
    scanner.expect(':');
    if (key === 'data' && scanner.isNext('[')) {
      rows = PageRows.scan(scanner, rowLoop);
      if (rows.maxRowHeapBytes > maxRowHeapBytes) throw new ParsedPageTooLarge('it would take too much memory');
      continue;
    }
    const valueStart = scanner.skipValue();
    heapBytes += scanner.heapBytes;
    if (heapBytes > MAX_ENVELOPE_HEAP_BYTES) throw new ParsedPageTooLarge('it would take too much memory');
    envelope.set(key, parseWithoutRounding(body.subarray(valueStart, scanner.position))[0]);
  }
  if (!isEmpty) scanner.expect('}');
  scanner.expectEnd();
  return { envelope, rows };
}

/** The greatest length of ids and states in UTF-16 units. The engine sends some tens of units. */
const MAX_WORD_LENGTH = 200;

/** A text of at most MAX_WORD_LENGTH units, cut off if it is longer; null: the value is no text. */
function wordOrNull(value: unknown): string | null {
  return textOrNull(value)?.slice(0, MAX_WORD_LENGTH) ?? null;
}

/** The largest value of the engine's `long`. */
const MAX_COUNT = 2n ** 63n - 1n;

/** Reads a count, which is text if it has sixteen or more digits (see `parseWithoutRounding`). @throws ProtocolBreach */
function readCount(value: unknown): bigint | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return null;
  // The length is checked first, because BigInt takes seconds for megabytes of digits.
  const count = value.length > 19 ? null : BigInt(value);
  if (count === null || count > MAX_COUNT) throw new ProtocolBreach('an update count beyond 63 bits');
  return count;
}

/** Base for resolving a relative nextUri. No request goes to this origin. */
const PLACEHOLDER_ORIGIN = 'http://engine.invalid';
const STATEMENT_PATH = '/v1/statement/';

/**
 * The path and query of a nextUri, which are only requested from the configured origin. The engine builds host and scheme from headers that
 * any proxy may have written (X-Forwarded-Host), and a client that follows them can be sent anywhere with its token. Host and scheme are therefore ignored.
 * @param basePath path below which a gateway serves the engine; a nextUri may begin with it.
 * @returns a path that begins with `/v1/statement/`, a capability that must not be logged.
 * @throws ProtocolBreach if the path, normalized as servers do, does not begin with `/v1/statement/`.
 */
export function pathOfNextUri(nextUri: string, basePath = ''): string {
  if (!URL.canParse(nextUri, PLACEHOLDER_ORIGIN)) throw new ProtocolBreach('a nextUri that is not a URL');
  const url = new URL(nextUri, PLACEHOLDER_ORIGIN);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ProtocolBreach('a nextUri that is not an http URL');
  const path = url.pathname.startsWith(basePath + STATEMENT_PATH) ? url.pathname.slice(basePath.length) : url.pathname;
  if (!path.startsWith(STATEMENT_PATH)) throw new ProtocolBreach(`a nextUri outside ${STATEMENT_PATH}`);
  // Node 20 keeps dot segments after a segment such as `.a`, but the server would resolve them.
  if (/\/\.\.?(?:\/|$)/.test(path)) throw new ProtocolBreach('a nextUri with a dot segment');
  // On a server that decodes before routing, an encoded dot segment or slash would leave `/v1/statement/`.
  if (/%2e|%2f|%5c|%00|\\/i.test(path)) throw new ProtocolBreach('a nextUri with an encoded path');
  return path + url.search;
}

/** Whether a path belongs to a query: the engine's paths contain the query's id as a segment. */
export function belongsTo(path: string, queryId: string): boolean {
  return path.split(/[/?]/).includes(queryId);
}
