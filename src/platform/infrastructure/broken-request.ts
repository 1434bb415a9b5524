import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { Refused } from '../../kernel/errors.js';
import { toProblem } from '../problem.js';

/** The last word on a connection whose bytes are no HTTP request, or whose headers are too large: a problem document, and the end. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const line = tooLarge ? '431 Request Header Fields Too Large' : late ? '408 Request Timeout' : '400 Bad Request';
  const problem = toProblem(new Refused('bad_request', { detail: `${line.slice(4)}.` }), randomUUID());
  const body = JSON.stringify({ ...problem, title: line.slice(4), status: Number(line.slice(0, 3)) });
  socket.end(
    `HTTP/1.1 ${line}\r\nContent-Type: application/problem+json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}
