import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Refused } from '../../kernel/errors.js';
import { toProblem } from './problem.js';
import type { Connections } from './connections.js';
import type { RequestRecords } from './request-records.js';
import { STANDARD_HEADERS } from './security-headers.js';
import type { AllowedMethods } from './allowed-methods.js';

/** The error of Node's HTTP parser. `rawPacket`: the bytes received, a Buffer. */
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

/** Answers CONNECT with 405; Node would close the connection without an answer. */
export function refuseTunnels(server: Server, connections: Connections, records: RequestRecords): void {
  server.on('connect', (_, socket: Socket) => {
    if (connections.mayAnswerUnparsed(socket)) respond(socket, records, new Refused('method_not_allowed'), 405, '');
  });
}

/** @param allow the `Allow` header of a 405 */
function respond(
  socket: Socket,
  records: RequestRecords | undefined,
  refused: Refused,
  status: number,
  allow?: string,
): void {
  const reason = STATUS_CODES[status] ?? '';
  const problem = { ...toProblem(refused, randomUUID()), title: reason, status };
  const body = JSON.stringify(problem);
  const headers = {
    ...STANDARD_HEADERS,
    ...(allow === undefined ? {} : { Allow: allow }),
    'X-Request-Id': problem.request_id,
    'Content-Type': 'application/problem+json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}\r\n`);
  records?.recordUnparsed(status);
  socket.write(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${body}`);
  socket.destroySoon();
}

/** Statuses by error code of Node or Connections. Any other code gets 400. */
const STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  TOO_MANY_HEADERS: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

const DETAILS: Readonly<Record<string, string>> = {
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'The chunks of the body have more than 16 KiB of extensions.',
  UNCLEAR_LENGTH: 'Transfer-Encoding is chunked and nothing else, in HTTP/1.1 and without Content-Length.',
};

function answerTo(
  { code = '', rawPacket }: ClientError,
  methods: AllowedMethods,
): [refused: Refused, status: number, allow?: string] {
  const packet = code === 'HPE_INVALID_METHOD' && Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : '';
  const [, target] = REQUEST_LINE.exec(packet) ?? [];
  if (target !== undefined) {
    const allowed = methods.methodsOf(target);
    return allowed === null
      ? [new Refused('not_found'), 404]
      : [new Refused('method_not_allowed'), 405, allowed.join(', ')];
  }
  const status = STATUSES[code] ?? 400;
  const detail = DETAILS[code] ?? `${STATUS_CODES[status]}.`;
  return [new Refused(status === 413 ? 'payload_too_large' : 'bad_request', { detail }), status];
}

/** Matches a request line that is valid except for its method (RFC 9112 section 3). */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ ((?:https?:\/\/[^/]+)?\/[!-~]*) HTTP\/1\.[01]\r\n/;
