import { NamedError } from '../../kernel/errors.js';
import { type EngineError, readEngineError } from './engine-error.js';
import { type Column, readColumns } from './engine-type.js';
import { JsonScanner, readExactly } from './json-scanner.js';
import { PageRows } from './page-rows.js';
import { ProtocolBreach, isObject, numberOrNull, readText, textOrNull } from './reading.js';
import type { RowLoop } from './row-loop.js';

/** A parsed answer of the statement endpoint. */
export interface StatementPage {
  queryId: string;
  /** Path of the next page on the configured origin, a capability that is never logged. Null on the last page. */
  nextPath: string | null;
  /** Null on the first pages; once known, on every page. */
  columns: readonly Column[] | null;
  rows: PageRows;
  /** QUEUED, PLANNING, RUNNING, FINISHED, … For display only: `nextPath` and `error` decide what happens. */
  engineState: string;
  /** From 0 to 100; null while the engine reports none. */
  progressPercent: number | null;
  error: EngineError | null;
  /** INSERT, CREATE TABLE, SET SESSION, …; null for a statement that only reads. Known before the first row. */
  updateType: string | null;
  updateCount: bigint | null;
}

/**
 * Parses one answer, except its rows, which stay bytes.
 * @param heaviestRow the most heap bytes that a row may take once it is parsed.
 * @param loop finds many rows at once; null: they are found one by one.
 * @param base the same as for `pathOfNextUri`.
 * @throws ProtocolBreach for anything but an answer of the statement endpoint.
 * @throws PageTooHeavy
 */
export function readStatementPage(
  body: Buffer,
  heaviestRow = Infinity,
  loop: RowLoop | null = null,
  base = '',
): StatementPage {
  const { envelope, rows } = split(body, heaviestRow, loop);
  const member = (name: string): unknown => envelope.get(name) ?? null;
  const [stats, nextUri, columns, error] = ['stats', 'nextUri', 'columns', 'error'].map(member);
  const { state, progressPercentage } = isObject(stats) ? stats : {};
  if (member('data') !== null) throw new ProtocolBreach('data is not a list');
  return {
    queryId: readQueryId(member('id')),
    nextPath: nextUri === null ? null : pathOfNextUri(readText(nextUri, 'nextUri'), base),
    columns: columns === null ? null : readColumns(columns),
    rows,
    engineState: wordOrNull(state) ?? 'UNKNOWN',
    progressPercent: numberOrNull(progressPercentage),
    error: error === null ? null : readEngineError(error),
    updateType: wordOrNull(member('updateType')),
    updateCount: readCount(member('updateCount')),
  };
}

/** A page within the limit of bytes that would take far more memory once it is parsed. */
export class PageTooHeavy extends NamedError {}

/**
 * The most heap bytes of an answer without its rows once it is parsed: about 16,000 columns, which stay in memory as long as the query
 * runs. No table is as wide, but `SELECT 1, 1, …` of a few hundred kilobytes is.
 */
const HEAVIEST_ENVELOPE = 8 * 1_048_576;

/** Splits an answer into its rows as bytes and everything else parsed. */
function split(
  body: Buffer,
  heaviestRow: number,
  loop: RowLoop | null,
): { envelope: ReadonlyMap<string, unknown>; rows: PageRows } {
  const scanner = new JsonScanner(body);
  const envelope = new Map<string, unknown>();
  let rows = PageRows.NONE;
  let weight = 0;
  scanner.expect('{');
  const isEmpty = scanner.skipIf('}');
  for (let more = !isEmpty; more; more = scanner.skipIf(',')) {
    const begun = scanner.skipValue();
    const [key] = readExactly(body.subarray(begun, scanner.at));
    if (typeof key !== 'string') throw new ProtocolBreach('the answer is not JSON');
    scanner.expect(':');
    if (key === 'data' && scanner.isAt('[')) {
      rows = PageRows.scan(scanner, loop);
      if (rows.heaviest > heaviestRow) throw new PageTooHeavy('it would take too much memory');
      continue;
    }
    const start = scanner.skipValue();
    weight += scanner.weight;
    if (weight > HEAVIEST_ENVELOPE) throw new PageTooHeavy('it would take too much memory');
    envelope.set(key, readExactly(body.subarray(start, scanner.at))[0]);
  }
  if (!isEmpty) scanner.expect('}');
  scanner.expectEnd();
  return { envelope, rows };
}

/** The most UTF-16 units of ids, states and update types. The engine's are many times shorter. */
const LONGEST_WORD = 200;

/** @throws ProtocolBreach */
function readQueryId(value: unknown): string {
  const id = readText(value, 'the query id');
  if (id.length > LONGEST_WORD) throw new ProtocolBreach('a query id that is too long');
  return id;
}

/** A word, cut off if it is too long; null: there is none. */
function wordOrNull(value: unknown): string | null {
  return textOrNull(value)?.slice(0, LONGEST_WORD) ?? null;
}

/** The largest value of the engine's `long`, and of the database's column. */
const LARGEST_COUNT = 2n ** 63n - 1n;

/** A count. Exact reading has turned very large integers into text. @throws ProtocolBreach */
function readCount(value: unknown): bigint | null {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value !== 'string' || !/^\d+$/.test(value)) return null;
  // The length is checked first, because a number of megabytes would take seconds.
  const count = value.length > 19 ? null : BigInt(value);
  if (count === null || count > LARGEST_COUNT) throw new ProtocolBreach('an update count beyond 63 bits');
  return count;
}

/** The base for relative links, in place of the configured origin, which the client adds. */
const ORIGIN = 'http://engine.invalid';
const ROOT = '/v1/statement/';

/**
 * The path and query of a nextUri, which are only requested from the configured origin. The engine builds host and scheme from headers that
 * any proxy may have written (X-Forwarded-Host), and a client that follows them can be sent anywhere with its token. So they are ignored.
 *
 * @param base path below which a gateway serves the engine; a nextUri may begin with it.
 * @returns a path that begins with `/v1/statement/`, a capability that must not be logged.
 * @throws ProtocolBreach if the path, normalized as servers do, does not begin so.
 */
export function pathOfNextUri(nextUri: string, base = ''): string {
  if (!URL.canParse(nextUri, ORIGIN)) throw new ProtocolBreach('a nextUri that is not a URL');
  const url = new URL(nextUri, ORIGIN);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ProtocolBreach('a nextUri that is not an http URL');
  const path = url.pathname.startsWith(base + ROOT) ? url.pathname.slice(base.length) : url.pathname;
  if (!path.startsWith(ROOT)) throw new ProtocolBreach(`a nextUri outside ${ROOT}`);
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
