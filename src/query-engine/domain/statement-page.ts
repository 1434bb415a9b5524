import { NamedError } from '../../kernel/errors.js';
import { type EngineError, readEngineError } from './engine-error.js';
import { type Column, readColumns } from './engine-type.js';
import { JsonScanner, readExactly } from './json-scanner.js';
import { PageRows } from './page-rows.js';
import { ProtocolBreach, isObject, numberOrNull, readText, textOrNull } from './reading.js';
import type { RowLoop } from './row-loop.js';

/** One answer of the statement endpoint, read. */
export interface StatementPage {
  queryId: string;
  /** Path of the next page on the configured origin; null: this was the last. A capability: never logged. */
  nextPath: string | null;
  /** Known from some page on, and then on every page. */
  columns: readonly Column[] | null;
  rows: PageRows;
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
 * @param loop that finds rows; null: they are found one by one.
 * @param base as `pinned` has it.
 * @throws ProtocolBreach when this is no answer of the statement endpoint.
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
    nextPath: nextUri === null ? null : pinned(readText(nextUri, 'nextUri'), base),
    columns: columns === null ? null : readColumns(columns),
    rows,
    engineState: wordOrNull(state) ?? 'UNKNOWN',
    progressPercent: numberOrNull(progressPercentage),
    error: error === null ? null : readEngineError(error),
    updateType: wordOrNull(member('updateType')),
    updateCount: readCount(member('updateCount')),
  };
}

/** A page within its limit of bytes that would take far more once it is parsed. */
export class PageTooHeavy extends NamedError {}

/**
 * Heap bytes of everything beside the rows once it is parsed: some 16,000 columns, which are kept as long as the query runs. No
 * table is as wide, but `SELECT 1, 1, …` of a few hundred kilobytes is.
 */
const HEAVIEST_ENVELOPE = 8 * 1_048_576;

/** The rows as bytes, and everything beside them parsed. */
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
  const isEmpty = scanner.takes('}');
  for (let more = !isEmpty; more; more = scanner.takes(',')) {
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
  // The length is checked first, because a number of megabytes would take seconds.
  const count = value.length > 19 ? null : BigInt(value);
  if (count === null || count > LARGEST_COUNT) throw new ProtocolBreach('an update count beyond 63 bits');
  return count;
}

/** A placeholder for the configured origin, which the client adds; relative links are read against it. */
const ORIGIN = 'http://engine.invalid';
const ROOT = '/v1/statement/';

/**
 * The path and query of a nextUri, which are requested from the configured origin alone. The engine builds host and scheme
 * from headers that any proxy may have written (X-Forwarded-Host): a client that follows them can be sent anywhere with
 * its token. They are therefore not even compared.
 *
 * @param base path below which a gateway has the engine; addresses may begin with it.
 * @returns a path that begins with `/v1/statement/`: a capability, never to be logged.
 * @throws ProtocolBreach when the path does not begin so, once it is read as the network would read it.
 */
export function pinned(nextUri: string, base = ''): string {
  if (!URL.canParse(nextUri, ORIGIN)) throw new ProtocolBreach('a nextUri that is not a URL');
  const url = new URL(nextUri, ORIGIN);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new ProtocolBreach('a nextUri that is not an http URL');
  const path = url.pathname.startsWith(base + ROOT) ? url.pathname.slice(base.length) : url.pathname;
  if (!path.startsWith(ROOT)) throw new ProtocolBreach(`a nextUri outside ${ROOT}`);
  // Node 20 leaves dot segments behind a segment such as `.a` as they are; whoever is asked does not.
  if (/\/\.\.?(?:\/|$)/.test(path)) throw new ProtocolBreach('a nextUri with a dot segment');
  // Decoded, a dot segment or slash would leave the root on a server that decodes before it routes.
  if (/%2e|%2f|%5c|%00|\\/i.test(path)) throw new ProtocolBreach('a nextUri with an encoded path');
  return path + url.search;
}

/** Whether a path is one of that query: the engine's paths have its id as a segment. */
export function belongsTo(path: string, queryId: string): boolean {
  return path.split(/[/?]/).includes(queryId);
}
