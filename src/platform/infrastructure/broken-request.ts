import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Refused } from '../../kernel/errors.js';
import { type Problem, toProblem } from '../problem.js';
import type { Connections } from './connections.js';
import { STANDARD_HEADERS } from './security-headers.js';
import type { RouteTable } from './route-table.js';

/** Why Node's parser refuses to read on. `rawPacket`: the bytes that came, a Buffer. */
export type BrokenRequest = Error & { code?: string; rawPacket?: unknown };

interface LastWord {
  status: number;
  reason: string;
  problem: Problem;
  /** For 405: what `Allow` says. */
  allow?: string;
}

/**
 * The last word on a connection whose bytes Node takes for no HTTP request: a problem document, and the end. A method that
 * Node does not know, such as QUERY, is a wrong method like any other (405, or 404 where there is nothing).
 */
export function answerBrokenRequests(
  routes: RouteTable,
  connections: Connections,
): (error: BrokenRequest, socket: Socket) => void {
  return (error, socket) => {
    if (!socket.writable || error.code === 'ECONNRESET' || !connections.mayAnswer(socket)) {
      socket.destroy();
      return;
    }
    const id = randomUUID();
    say(socket, wordOnMethod(error, routes, id) ?? wordOnBytes(error, id));
  };
}

/** Node closes a connection that asks for a tunnel, whatever its target, without a word. */
export function refuseTunnels(server: Server): void {
  server.on('connect', (_, socket) => {
    const problem = toProblem(new Refused('method_not_allowed'), randomUUID());
    say(socket, { status: 405, reason: 'Method Not Allowed', problem, allow: '' });
  });
}

function say(socket: Duplex, { status, reason, problem, allow }: LastWord): void {
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
  socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${body}`);
}

function wordOnBytes({ code }: BrokenRequest, id: string): LastWord {
  const tooLarge = code === 'HPE_HEADER_OVERFLOW';
  const late = code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const status = tooLarge ? 431 : late ? 408 : 400;
  const reason = tooLarge ? 'Request Header Fields Too Large' : late ? 'Request Timeout' : 'Bad Request';
  const problem = toProblem(new Refused('bad_request', { detail: `${reason}.` }), id);
  return { status, reason, problem: { ...problem, title: reason, status } };
}

/** Null: it is not a request line in good form that the method alone spoils (RFC 9112 section 3). */
function wordOnMethod({ code, rawPacket }: BrokenRequest, routes: RouteTable, id: string): LastWord | null {
  if (code !== 'HPE_INVALID_METHOD') return null;
  const [, target] = REQUEST_LINE.exec(Buffer.isBuffer(rawPacket) ? rawPacket.toString('latin1') : '') ?? [];
  if (target === undefined) return null;
  const allowed = routes.methodsOf(target);
  if (allowed === null) return { status: 404, reason: 'Not Found', problem: toProblem(new Refused('not_found'), id) };
  return {
    status: 405,
    reason: 'Method Not Allowed',
    problem: toProblem(new Refused('method_not_allowed'), id),
    allow: allowed.join(', '),
  };
}

const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ (\/[!-~]*) HTTP\/1\.[01]\r\n/;
