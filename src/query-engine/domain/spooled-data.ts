import { addressWithin } from './next-uri.js';
import { isObject, type JsonObject, ProtocolBreach, readList, readObject, readText } from './reading.js';

/** How the rows of a segment are written: JSON as on a page of the direct protocol, packed or not. */
export type Packing = 'none' | 'lz4' | 'zstd';

const ENCODINGS: Readonly<Record<string, Packing>> = { json: 'none', 'json+lz4': 'lz4', 'json+zstd': 'zstd' };

/** The encodings that a client asks for, the one it likes best first. */
export function encodingsOf(packings: readonly Packing[]): string {
  return packings.map((packing) => Object.keys(ENCODINGS).find((name) => ENCODINGS[name] === packing)).join(',');
}

/** A part of a page's rows, within the page or in the engine's store. */
export interface Segment {
  rows: number;
  /** Of its bytes as they are sent. */
  size: number;
  packing: Packing;
  /** Of its bytes once they are unpacked. */
  unpackedSize: number;
  source: { inline: string } | StoredSegment;
}

/** Addresses are capabilities, like nextUri: never logged. */
export interface StoredSegment {
  uri: string;
  /** Asked for once the segment is not needed any more, so that the store can drop it. */
  ackUri: string;
  /** For the store alone, such as the key of its encryption. */
  headers: Readonly<Record<string, string>>;
}

/** Reads what stands in `data` where the engine spools a result, in the order of the rows. @throws ProtocolBreach */
export function readSegments(data: JsonObject): Segment[] {
  const packing = ENCODINGS[readText(data['encoding'], 'the encoding')];
  if (packing === undefined) throw new ProtocolBreach('an encoding that was not asked for');
  return readList(data['segments'], 'the segments')
    .map((segment) => readSegment(readObject(segment, 'a segment'), packing))
    .sort((one, other) => one.offset - other.offset)
    .map(({ segment }) => segment);
}

function readSegment(segment: JsonObject, packing: Packing): { offset: number; segment: Segment } {
  const metadata = readObject(segment['metadata'], 'the metadata of a segment');
  const size = readSize(metadata, 'segmentSize');
  // Small segments are sent as they are, whatever the encoding.
  const isPacked = metadata['uncompressedSize'] !== undefined && packing !== 'none';
  const common = {
    rows: readSize(metadata, 'rowsCount'),
    size,
    packing: isPacked ? packing : 'none',
    unpackedSize: isPacked ? readSize(metadata, 'uncompressedSize') : size,
  } as const;
  return { offset: readSize(metadata, 'rowOffset'), segment: { ...common, source: readSource(segment) } };
}

function readSource(segment: JsonObject): Segment['source'] {
  if (segment['type'] === 'inline') return { inline: readText(segment['data'], 'the data of a segment') };
  if (segment['type'] !== 'spooled') throw new ProtocolBreach('a segment of an unknown type');
  return {
    uri: readText(segment['uri'], 'the address of a segment'),
    ackUri: readText(segment['ackUri'], 'the address to acknowledge a segment'),
    headers: readHeaders(segment['headers'] ?? {}),
  };
}

function readSize(metadata: JsonObject, name: string): number {
  const size = metadata[name];
  if (typeof size === 'number' && Number.isSafeInteger(size) && size >= 0) return size;
  throw new ProtocolBreach(`${name} of a segment is no size`);
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}$/;
const VALUE = /^[\t\x20-\x7e]*$/;
/** They frame the message, or say whose it is: a segment has none of ours. */
const RESERVED = /^(host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer|accept-encoding)$/i;

function readHeaders(headers: unknown): Record<string, string> {
  if (!isObject(headers)) throw new ProtocolBreach('the headers of a segment are not an object');
  return Object.fromEntries(
    Object.entries(headers).map(([name, values]) => {
      const value = readList(values, 'the values of a header').join(', ');
      const isSendable = NAME.test(name) && !RESERVED.test(name) && VALUE.test(value);
      if (!isSendable) throw new ProtocolBreach('a header of a segment that cannot be sent');
      return [name, value];
    }),
  );
}

/**
 * Where a segment is fetched: from one of the store's origins that are allowed, or from the engine's own, of which only the path
 * is taken, as of a nextUri.
 * @throws ProtocolBreach for any other address. The message names its origin alone.
 */
export function segmentAddress(
  uri: string,
  { origin, path }: { origin: string; path: string },
  store: readonly string[],
): string {
  if (!URL.canParse(uri, origin)) throw new ProtocolBreach('the address of a segment is no URL');
  const url = new URL(uri, origin);
  if (url.username !== '' || url.password !== '') throw new ProtocolBreach('the address of a segment has a password');
  if (store.includes(url.origin)) return url.href;
  const roots = ['/v1/spooled/', `${path}/v1/spooled/`];
  if (roots.some((root) => url.pathname.startsWith(root)))
    return origin + path + addressWithin('/v1/spooled/', uri, 'an address of a segment', path);
  throw new ProtocolBreach(`a segment at ${url.origin}, which is not in SERVICE_QUERY_SPOOLING_ORIGINS`);
}

/** Fetched together as one page, where they are small. */
const TOGETHER = 4 * 1_048_576;

/** Which segments from that one on make the next page: one at least. @returns the number of the first that does not. */
export function endOfPage(segments: readonly Segment[], from: number): number {
  let [to, bytes] = [from, 0];
  for (; to < segments.length; to += 1) {
    bytes += segments[to]?.unpackedSize ?? 0;
    if (to > from && bytes > TOGETHER) break;
  }
  return to;
}

/** A page that the engine names by its path, from one of its segments on: the same request again, of which the rest is wanted. */
export function pathFrom(path: string, segment: number): string {
  return `${path.replace(/#.*/, '')}#${segment}`;
}

/** The segment from which on a path's page is wanted: that of the engine's own paths is 0. */
export function segmentOf(path: string): number {
  return Number(path.split('#')[1] ?? 0);
}
