import { randomUUID } from 'node:crypto';
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Refused } from '../../kernel/errors.js';
import { type Problem, toProblem } from './problem.js';
import type { Connections } from './connections.js';
import type { RequestRecords } from './request-records.js';
import { STANDARD_HEADERS } from './security-headers.js';
import type { AllowedMethods } from './allowed-methods.js';

/** The error of Node's HTTP parser. `rawPacket`: the bytes received, a Buffer. */
export type ClientError = Error & { code?: string; rawPacket?: unknown };

interface RawResponse {
  status: number;
  reason: string;
  problem: Problem;
  /** The `Allow` header of a 405. */
  allow?: string;
}

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
    const reaction = connections.reactionToUnparsed(socket);
    if (reaction === 'ignore') return;
    if (!socket.writable || error.code === 'ECONNRESET' || reaction === 'close') {
      socket.destroy();
      return;
    }
    const id = randomUUID();
    const response = unknownMethodResponse(error, methods, id) ?? malformedRequestResponse(error, id);
    records?.unparsed(response.status);
    respond(socket, response);
  };
}

/** Answers CONNECT with 405; Node would close the connection without an answer. */
export function refuseTunnels(server: Server, connections: Connections, records: RequestRecords): void {
  server.on('connect', (_, socket: Socket) => {
    const reaction = connections.reactionToUnparsed(socket);
    if (reaction === 'ignore') return;
    if (reaction === 'close') {
      socket.destroy();
      return;
    }
    records.unparsed(405);
    const problem = toProblem(new Refused('method_not_allowed'), randomUUID());
    respond(socket, { status: 405, reason: 'Method Not Allowed', problem, allow: '' });
  });
}

function respond(socket: Socket, { status, reason, problem, allow }: RawResponse): void {
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
  socket.write(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${body}`);
  socket.destroySoon();
}

/** Statuses of what Node or Connections refuses to parse on; of anything else: 400. */
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

function malformedRequestResponse({ code }: ClientError, id: string): RawResponse {
  const status = STATUSES[code ?? ''] ?? 400;
  const reason = STATUS_CODES[status] ?? '';
  const detail = DETAILS[code ?? ''] ?? `${reason}.`;
  const problem = toProblem(new Refused(status === 413 ? 'payload_too_large' : 'bad_request', { detail }), id);
  return { status, reason, problem: { ...problem, title: reason, status } };
}

/** Null: the request line has other errors than its method (RFC 9112 section 3). */
function unknownMethodResponse(
  { code, rawPacket }: ClientError,
  methods: AllowedMethods,
  id: string,
): RawResponse | null {
  if (code !== 'HPE_INVALID_METHOD') return null;
  const [, target] = REQUEST_LINE.exec(Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : '') ?? [];
  if (target === undefined) return null;
  const allowed = methods.of(target);
  if (allowed === null) return { status: 404, reason: 'Not Found', problem: toProblem(new Refused('not_found'), id) };
  return {
    status: 405,
    reason: 'Method Not Allowed',
    problem: toProblem(new Refused('method_not_allowed'), id),
    allow: allowed.join(', '),
  };
}

const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ ((?:https?:\/\/[^/]+)?\/[!-~]*) HTTP\/1\.[01]\r\n/;
