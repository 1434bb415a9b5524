import { promisify } from 'node:util';
import * as zlib from 'node:zlib';
import type { Clock } from '../../kernel/clock.js';
import type { Random } from '../../kernel/random.js';
import type { Timers } from '../../kernel/timers.js';
import { AxiosExchange } from '../../platform/infrastructure/axios-exchange.js';
import type { Log } from '../../platform/log.js';
import { JsonScanner } from '../domain/json-scanner.js';
import { unpackLz4 } from '../domain/lz4-block.js';
import { PageRows } from '../domain/page-rows.js';
import { ProtocolBreach } from '../domain/reading.js';
import type { RowLoop } from '../domain/row-loop.js';
import { encodingsOf, endOfPage, type Segment, segmentAddress, type StoredSegment } from '../domain/spooled-data.js';
import { EngineFault, type RequestLimits } from '../domain/statement-client.js';
import type { StatementPage } from '../domain/statement-page.js';
import { OTHER_LENGTH, UnscannedRows } from '../domain/unscanned-rows.js';
import { EngineAttempts } from './engine-attempts.js';

type Unpack = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

/** Node has it from version 22.15 on. */
const { zstdDecompress } = zlib as { zstdDecompress?: Parameters<typeof promisify>[0] };
const unpackZstd = zstdDecompress === undefined ? null : (promisify(zstdDecompress) as Unpack);

/** What a client asks for whose results may be spooled. */
export const SPOOLED_ENCODINGS = encodingsOf([...(unpackZstd === null ? [] : (['zstd'] as const)), 'lz4', 'none']);

/** How long after a query's last page its segments are acknowledged: it cannot be asked for again by then. */
const LAST_PAGE = 300_000;

/** Of segments that wait to be acknowledged; of more, the store keeps the oldest until their time there is over. */
const MOST_UNACKNOWLEDGED = 10_000;

interface Unacknowledged {
  /** Whoever asks for this page needs the ones before no more; null: there is none. */
  nextPath: string | null;
  since: number;
  segments: StoredSegment[];
}

/** Rows that the engine has put into its store (its spooling protocol). */
export class SpooledRows {
  private readonly store: AxiosExchange;
  private unacknowledged: Unacknowledged[] = [];

  /**
   * @param engine its own segments are fetched from `origin` over `exchange`, others from the origins of the store. Neither is sent a
   * token: the addresses are capabilities.
   */
  constructor(
    private readonly engine: {
      origin: string;
      path: string;
      headers: Readonly<Record<string, string>>;
      exchange: AxiosExchange;
      largestPage: number;
      loop: RowLoop | null;
    },
    private readonly origins: readonly string[],
    private readonly timers: Timers,
    private readonly random: Random,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {
    this.store = new AxiosExchange(engine.largestPage);
  }

  /**
   * The rows of the next segments, as those of one page. @returns with the number of the first segment after them, and those that came from the store.
   * @param heaviestRow heap bytes that a row may take, of rows that need not be looked through; null: others
   * @throws EngineFault @throws ProtocolBreach
   */
  async read(
    segments: readonly Segment[],
    from: number,
    limits: RequestLimits,
    heaviestRow: number | null,
  ): Promise<Pick<StatementPage, 'rows' | 'unscanned'> & { to: number; taken: StoredSegment[] }> {
    if (from > segments.length) throw new ProtocolBreach('a page with fewer segments than before');
    const to = endOfPage(segments, from);
    const wanted = segments.slice(from, to);
    const bytes = wanted.reduce((sum, { size, unpackedSize }) => sum + Math.max(size, unpackedSize), 0);
    if (bytes > this.engine.largestPage) throw new EngineFault('too-large', 'a segment of more bytes than are taken');
    const parts: Buffer[] = [];
    let received = 0;
    for (const segment of wanted) {
      const onBytes = (count: number): void => limits.onBytes?.(received + count);
      const sent = await this.bytesOf(segment.source, { ...limits, onBytes });
      if (sent.length !== segment.size) throw new ProtocolBreach('a segment of another size than was said');
      const unpacked = await unpack(sent, segment);
      received += unpacked.length;
      limits.onBytes?.(received);
      parts.push(unpacked);
    }
    const taken = wanted.flatMap(({ source }) => ('inline' in source ? [] : [source]));
    const list = joined(parts);
    const count = wanted.reduce((sum, { rows }) => sum + rows, 0);
    const unscanned = heaviestRow === null ? null : UnscannedRows.whole(list, heaviestRow, count);
    if (unscanned !== null) return { rows: PageRows.NONE, unscanned, to, taken };
    const rows = listOf(list, this.engine.loop);
    if (rows.length !== count) throw new ProtocolBreach(OTHER_LENGTH);
    return { rows, unscanned, to, taken };
  }

  /** These have been read, and can be asked for again until somebody asks for that page. @param nextPath null: they are a query's last */
  keep(segments: StoredSegment[], nextPath: string | null): void {
    if (segments.length === 0) return;
    this.unacknowledged.push({ nextPath, since: this.timers.now(), segments });
    if (this.unacknowledged.length > MOST_UNACKNOWLEDGED) this.unacknowledged.shift();
  }

  /** Nobody will ask for what came before that page, nor for the last pages of queries that ended a while ago. */
  acknowledgeBefore(path: string): void {
    const oldest = this.timers.now() - LAST_PAGE;
    const isDone = ({ nextPath, since }: Unacknowledged): boolean =>
      nextPath === path || (nextPath === null && since <= oldest);
    const done = this.unacknowledged.filter(isDone);
    if (done.length === 0) return;
    this.unacknowledged = this.unacknowledged.filter((each) => !isDone(each));
    this.acknowledge(done.flatMap(({ segments }) => segments));
  }

  /** Tells the store that nobody will ask for these again, and waits for nothing. */
  acknowledge(segments: readonly StoredSegment[]): void {
    for (const segment of segments) void this.acknowledgeOne(segment);
  }

  /** Closes idle connections. */
  close(): void {
    this.store.close();
  }

  private async acknowledgeOne({ ackUri, headers }: StoredSegment): Promise<void> {
    try {
      await this.fetch(ackUri, headers, { deadline: this.timers.now() + 10_000 });
    } catch (error) {
      if (!(error instanceof EngineFault) && !(error instanceof ProtocolBreach)) throw error;
      this.log.debug('a segment was not acknowledged', { reason: error.message });
    }
  }

  private async bytesOf(source: Segment['source'], limits: RequestLimits): Promise<Buffer> {
    if ('inline' in source) return Buffer.from(source.inline, 'base64');
    return this.fetch(source.uri, source.headers, limits);
  }

  private async fetch(uri: string, headers: StoredSegment['headers'], limits: RequestLimits): Promise<Buffer> {
    let address = segmentAddress(uri, this.engine, this.origins);
    const { timers, random, clock } = this;
    let isRedirected = false;
    for (;;) {
      const isOfEngine = address.startsWith(`${this.engine.origin}/`) && !isRedirected;
      const exchange = isOfEngine ? this.engine.exchange : this.store;
      const sent = isOfEngine ? { ...this.engine.headers, ...headers } : headers;
      const attempts = new EngineAttempts('GET', limits, { exchange, timers, random, clock });
      const found = await this.answer(address, sent, attempts);
      if (Buffer.isBuffer(found)) return found;
      // The engine may send its clients on to the store, once.
      if (isRedirected || !isOfEngine) throw new ProtocolBreach('a segment that is sent on and on');
      isRedirected = true;
      address = segmentAddress(found.location, this.engine, this.origins);
    }
  }

  private async answer(
    address: string,
    headers: StoredSegment['headers'],
    attempts: EngineAttempts,
  ): Promise<Buffer | { location: string }> {
    for (;;) {
      const outcome = await attempts.attempt(address, { ...headers, 'Accept-Encoding': 'identity' });
      if (outcome.kind === 'reply') {
        const { status, headers: given, body } = outcome.reply;
        if (status === 200 || status === 204) return body;
        if ([301, 302, 303, 307, 308].includes(status)) return { location: given['location'] ?? '' };
        if (status === 404 || status === 410) throw new EngineFault('gone', 'a segment that the store does not have');
      }
      if (await attempts.mayRepeat(outcome)) continue;
      const reason = outcome.kind === 'lost' ? outcome.reason : `answered with ${outcome.reply.status}`;
      throw new EngineFault('unavailable', `a segment could not be fetched: ${reason}`);
    }
  }
}

/** @throws ProtocolBreach */
async function unpack(bytes: Buffer, { packing, unpackedSize }: Segment): Promise<Buffer> {
  if (packing === 'none') return bytes;
  if (packing === 'lz4') return unpackLz4(bytes, unpackedSize);
  if (unpackZstd === null) throw new ProtocolBreach('an encoding that was not asked for');
  const unpacked = await unpackZstd(bytes, { maxOutputLength: Math.max(1, unpackedSize) }).catch(() => null);
  if (unpacked?.length !== unpackedSize) throw new ProtocolBreach('a segment that is no zstd of its size');
  return unpacked;
}

/** Each part is a list of rows, as on a page. */
function joined(parts: readonly Buffer[]): Buffer {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const inner = parts.map((part) => part.subarray(part.indexOf('[') + 1, part.lastIndexOf(']')));
  const filled = inner.filter((part) => part.some((byte) => byte > 0x20));
  const between = filled.flatMap((part, index) => (index === 0 ? [part] : [Buffer.from(','), part]));
  return Buffer.concat([Buffer.from('['), ...between, Buffer.from(']')]);
}

function listOf(bytes: Buffer, loop: RowLoop | null): PageRows {
  const scanner = new JsonScanner(bytes);
  const rows = PageRows.scan(scanner, loop);
  scanner.expectEnd();
  return rows;
}
