import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Refused } from '../../kernel/errors.js';
import { toProblem } from './problem.js';
import type { Connections } from './connections.js';
import type { RequestRecords } from './request-records.js';
import { STANDARD_HEADERS } from './security-headers.js';
import type { AllowedMethods } from './allowed-methods.js';

/** An error of Node's HTTP parser. `rawPacket` is a Buffer with the received bytes. */
export type ClientError = Error & { code?: string; rawPacket?: unknown };

/**
 * Answers bytes that Node cannot parse as an HTTP request with a problem document, and closes the connection. A method that
 * Node does not know, such as QUERY, is handled like any other wrong method: 405, or 404 for an unknown path.
 */
export function clientErrorHandler(
  methods: AllowedMethods,
  connections: Connections,
  records?: RequestRecords,
): (error: ClientError, socket: Socket) => void {
  return (error, socket) => {
    if (!connections.mayAnswerUnparsed(socket)) return;
    if (!socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else respond(socket, records, ...answerTo(error, methods));
  };
}

/** Answers CONNECT with 405, because Node would close the connection without an answer. */
export function refuseTunnels(server: Server, connections: Connections, records: RequestRecords): void {
  server.on('connect', (_, socket: Socket) => {
    if (connections.mayAnswerUnparsed(socket)) respond(socket, records, new Refused('method_not_allowed'), 405, '');
  });
}

/** Writes an answer to the socket, and closes the connection. @param allowHeader the `Allow` header of a 405 */
function respond(
  socket: Socket,
  records: RequestRecords | undefined,
  refusal: Refused,
  status: number,
  allowHeader?: string,
): void {
  const statusText = STATUS_CODES[status] ?? '';
  const problem = { ...toProblem(refusal, randomUUID()), title: statusText, status };
  const body = JSON.stringify(problem);
  const headers = {
    ...STANDARD_HEADERS,
    ...(allowHeader === undefined ? {} : { Allow: allowHeader }),
    'X-Request-Id': problem.request_id,
    'Content-Type': 'application/problem+json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  const headerLines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  records?.recordUnparsedRequest(status);
  socket.write(`HTTP/1.1 ${status} ${statusText}\r\n${headerLines.join('')}\r\n${body}`);
  socket.destroySoon();
}

/** Statuses by error code of Node or Connections. Any other code gets 400. */
const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  TOO_MANY_HEADERS: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const DETAIL_BY_CODE: Readonly<Record<string, string>> = {
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'The chunks of the body have more than 16 KiB of extensions.',
  UNCLEAR_LENGTH: 'Transfer-Encoding is chunked and nothing else, in HTTP/1.1 and without Content-Length.',
};

function answerTo(
  { code = '', rawPacket }: ClientError,
  methods: AllowedMethods,
): [refused: Refused, status: number, allow?: string] {
  const packetText = code === 'HPE_INVALID_METHOD' && Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : '';
  const [, target] = REQUEST_LINE.exec(packetText) ?? [];
  if (target !== undefined) {
    const allowedMethods = methods.methodsOf(target);
    return allowedMethods === null
      ? [new Refused('not_found'), 404]
      : [new Refused('method_not_allowed'), 405, allowedMethods.join(', ')];
  }
  const status = STATUS_BY_CODE[code] ?? 400;
  const detail = DETAIL_BY_CODE[code] ?? `${STATUS_CODES[status]}.`;
  return [new Refused(status === 413 ? 'payload_too_large' : 'bad_request', { detail }), status];
}

/** Matches a request line that is valid except for its method (RFC 9112 section 3). */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ ((?:https?:\/\/[^/]+)?\/[!-~]*) HTTP\/1\.[01]\r\n/;
