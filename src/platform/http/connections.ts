import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import type { Log } from '../log/log.js';
import type { Settings } from '../settings/settings.js';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Requests of one connection that wait for their answers. The answer to the last of so many ends the connection. */
const MAX_IN_FLIGHT = 16;

/** Longer than the 60 s of common load balancers, so that this side never closes a connection in use. */
const KEEP_ALIVE_MS = 72_000;

/** How often late requests are checked for; Node's default of 30 s would be added to the limit. */
const CHECK_MS = 1_000;

/** The longest body after which an answer that did not wait for it leaves the connection open. */
const MAX_REST = 65_536;

/** The limit of common servers (Apache's LimitRequestFields). Node's own limit silently drops further headers. */
const MAX_HEADERS = 100;

/** Bytes that are read and dropped of a connection after its last answer. */
const DISCARDED = { bytes: 2 * 1024 * 1024, milliseconds: 5_000 };

/** Node's parser takes this answer for an upgrade, and leaves the rest of what was read alone. */
const NO_FURTHER_REQUEST = 2;

/** A request that is answered by the clientErrorHandler, as if it could not be parsed. */
export class RequestFault extends Error {
  constructor(readonly code: 'TOO_MANY_HEADERS' | 'UNCLEAR_LENGTH') {
    super(code);
  }
}

interface Connection {
  inFlight: number;
  latest?: { request: IncomingMessage; response: ServerResponse };
  /** No request is read after the latest one. */
  isLast: boolean;
  /** It has had its last answer. */
  isClosing: boolean;
}

interface ServedSocket extends Socket {
  parser?: { onIncoming: (request: IncomingMessage, keepsAlive: boolean) => number };
}

/** The connections of an HTTP server, with limits for each: requests in flight, time to send one, time to read an answer. */
export class Connections {
  private readonly open = new Map<Socket, Connection>();
  private isStopping = false;

  constructor(
    private readonly limits: Pick<Settings['http'], 'requestSeconds' | 'sendSeconds'>,
    private readonly log: Log,
  ) {}

  serve(answer: RequestListener): Server {
    const { requestSeconds, sendSeconds } = this.limits;
    const server = createServer({
      requireHostHeader: false, // requireOneHost answers with a problem document
      headersTimeout: requestSeconds * 1000,
      requestTimeout: requestSeconds * 1000,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
    server.on('connection', (socket: ServedSocket) => {
      const connection: Connection = { inFlight: 0, isLast: false, isClosing: false };
      this.open.set(socket, connection);
      socket.once('close', () => this.open.delete(socket));
      closeInStages(socket, connection);
      takeNothingBehindLast(socket, connection);
    });
    server.on('request', (request, response) => {
      const fault = this.admit(request, response);
      if (fault === null) answer(request, response);
      else server.emit('clientError', fault, request.socket);
    });
    // `100 Continue` is sent when the body is read: after authentication (BodyReader).
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
    // Expectations may be ignored (RFC 9110 section 10.1.1); Node would answer 417 without our headers.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    // Nothing sent or received for that long; bytes that the peer reads count.
    server.setTimeout(sendSeconds * 1000, (socket: Socket) => {
      const isIdle = this.inFlight(socket) === 0;
      if (!isIdle && socket.writableLength === 0) return;
      socket.destroy();
      this.log.debug('connection closed', { reason: isIdle ? 'idle' : 'answer not read' });
    });
    return server;
  }

  /** Requests that have been parsed and not answered. */
  inFlight(socket: Socket): number {
    return this.open.get(socket)?.inFlight ?? 0;
  }

  /**
   * Whether bytes that could not be parsed are answered: not after the last request of a connection. Where the answer could be taken for
   * that of an earlier request, the connection is closed instead.
   */
  mayAnswerUnparsed(socket: Socket): boolean {
    const { inFlight = -1, latest, isLast = false, isClosing = false } = this.open.get(socket) ?? {};
    const isBetweenRequests = latest?.request.complete !== false;
    if (isClosing || (isLast && isBetweenRequests)) return false;
    const isClear = isBetweenRequests ? inFlight === 0 : inFlight === 1 && !latest.response.headersSent;
    if (!isClear) socket.destroy();
    return isClear;
  }

  /** Closes the connections that are idle, and each of the others when it is. Node's own method also breaks off answers that are being sent. */
  closeIdle(): void {
    this.isStopping = true;
    for (const [socket, { inFlight, isClosing }] of this.open) if (inFlight === 0 && !isClosing) socket.destroy();
  }

  private admit(request: IncomingMessage, response: ServerResponse): RequestFault | null {
    const { socket } = request;
    const connection = this.open.get(socket) ?? { inFlight: 0, isLast: false, isClosing: false };
    connection.latest = { request, response };
    connection.inFlight += 1;
    connection.isLast = !response.shouldKeepAlive || connection.inFlight === MAX_IN_FLIGHT;
    if (connection.isLast) response.shouldKeepAlive = false;
    else if (restOf(request) > MAX_REST) {
      // Keep-alive only once the whole body has come: the rest of it would have to be parsed to be thrown away.
      response.shouldKeepAlive = false;
      request.once('end', () => (response.shouldKeepAlive = true));
    }
    response.once('close', () => {
      connection.inFlight -= 1;
      if (this.isStopping && connection.inFlight === 0) socket.destroySoon();
    });
    if (request.rawHeaders.length > 2 * MAX_HEADERS) return new RequestFault('TOO_MANY_HEADERS');
    return hasUnclearLength(request) ? new RequestFault('UNCLEAR_LENGTH') : null;
  }
}

/** The rest of what was read with the last request would be made requests of, and kept, before the connection could be closed. */
function takeNothingBehindLast(socket: ServedSocket, connection: Connection): void {
  const { parser } = socket;
  if (parser === undefined) throw new Error('the HTTP server has no parser for its connection');
  const take = parser.onIncoming;
  parser.onIncoming = (request, keepsAlive) => {
    const { isLast, latest } = connection;
    const hasEnded = latest?.response.headersSent === true && !latest.response.shouldKeepAlive;
    if (!isLast && !hasEnded) return take(request, keepsAlive);
    connection.isLast = true;
    stopParsing(socket);
    if (!connection.isClosing) socket.pause();
    return NO_FURTHER_REQUEST;
  };
}

/**
 * Makes Node close the connection in stages (RFC 9112 section 9.6) after its last answer: a close with unread bytes makes the
 * kernel send a reset, which can cost the client that answer.
 */
function closeInStages(socket: Socket, connection: Connection): void {
  socket.destroySoon = () => {
    if (connection.isClosing) return;
    connection.isLast = true;
    connection.isClosing = true;
    socket.end();
    socket.resume();
    process.nextTick(() => stopParsing(socket)); // until then the server's own listener has resumed the reading for its parser
    const late = setTimeout(() => socket.destroy(), DISCARDED.milliseconds).unref();
    socket.once('close', () => clearTimeout(late));
  };
}

/** Takes the socket from the parser, which its own listener for bytes does, and drops what comes. */
function stopParsing(socket: Socket): void {
  let left = DISCARDED.bytes;
  socket.removeAllListeners('data');
  socket.on('data', ({ length }: Buffer) => {
    left -= length;
    if (left < 0) socket.destroy();
  });
}

function restOf({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
}

/**
 * Another server on the way could see another end of such a body, and the next request in it (RFC 9112 sections 6.1 and 11.2). Node
 * refuses two lengths itself, but takes an empty encoding for none, and reads chunks behind other encodings and in HTTP/1.0.
 */
function hasUnclearLength({ headers, httpVersion }: IncomingMessage): boolean {
  const encoding = headers['transfer-encoding']; // several are joined
  if (encoding === undefined) return false;
  return encoding !== 'chunked' || headers['content-length'] !== undefined || httpVersion !== '1.1';
}

/**
 * A request of HTTP/1.1 has exactly one Host header, or is answered with 400 (RFC 9112 section 3.2). Node silently
 * keeps the first of several, and answers a missing one without a body: its own check must be off.
 */
export function requireOneHost(server: FastifyInstance): void {
  server.addHook('preParsing', ({ raw }, _, __, done) => {
    const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
    const isGood = hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0');
    done(isGood ? null : new Refused('bad_request', { detail: 'There must be exactly one Host header.' }));
  });
}

/** Milliseconds in which answers announce the end of their connection, so that clients do not send on what is being closed. */
const GRACE = 1_000;

/**
 * Closes a server without breaking off an answer: no new connections; for a second every answer on the others has
 * `Connection: close`; then idle ones are closed, the rest after their answer.
 */
export class ConnectionDrain {
  private draining: Promise<void> | null = null;

  constructor(
    private readonly server: FastifyInstance,
    private readonly connections: Connections,
  ) {
    server.addHook('onSend', ({ raw: { socket } }, { raw: response }, _, done) => {
      // In the last of several pipelined requests only: those after it would get no answer.
      if (this.draining !== null && connections.inFlight(socket) > 1) response.removeHeader('Connection');
      else if (this.draining !== null) response.setHeader('Connection', 'close');
      done();
    });
    server.addHook('preClose', () => this.begin());
  }

  /** Resolves when no connection is left. The server's own close waits for that, too. */
  begin(): Promise<void> {
    return (this.draining ??= this.drain());
  }

  /** Breaks off all answers that are left. */
  cut(): void {
    this.server.server.closeAllConnections();
  }

  private async drain(): Promise<void> {
    const closed = once(this.server.server, 'close');
    await stopListening(this.server.server);
    // Requests received until then are read before that turn of the event loop ends.
    const grace = setTimeout(() => void nextTurn().then(() => this.connections.closeIdle()), GRACE);
    await closed;
    clearTimeout(grace);
  }
}

/** Length of the kernel's queue of unaccepted connections: Node's default. */
const BACKLOG = 511;

/**
 * Closes the listening socket once the connections in the kernel's queue are accepted, which would be reset otherwise: one in each turn of
 * the event loop. The HTTP server's own close, which does more, follows the drain.
 */
async function stopListening(server: NetServer): Promise<void> {
  let accepted = 0;
  const count = (): number => (accepted += 1);
  server.on('connection', count);
  // The first turn may have begun after the phase in which connections are accepted.
  for (let [turns, quiet] = [0, 0]; quiet < 2 && turns < BACKLOG; turns += 1) {
    const former = accepted;
    await nextTurn();
    quiet = accepted === former ? quiet + 1 : 0;
  }
  server.off('connection', count);
  NetServer.prototype.close.call(server);
}
