import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import type { Log } from '../log/log.js';
import type { Settings } from '../settings/settings.js';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The most unanswered requests of one connection. A connection that reaches the limit ends after its last answer. */
const MAX_IN_FLIGHT = 16;

/** Longer than the 60 s of common load balancers, so that this side never closes a connection in use. */
const KEEP_ALIVE_MS = 72_000;

/** How often Node looks for late requests. Its default of 30 s would be added to the limit. */
const CHECK_MS = 1_000;

/** The longest unread rest of a body with which a connection stays open after its answer. */
const MAX_REST = 65_536;

/** The limit of common servers (Apache's LimitRequestFields). Node's own limit silently drops further headers. */
const MAX_HEADERS = 100;

/** The most bytes that are read and dropped from a connection after its last answer, and for how long. */
const DISCARDED = { bytes: 2 * 1024 * 1024, milliseconds: 5_000 };

/** With this return value Node's parser assumes an upgrade and does not parse the rest of the received bytes. */
const NO_FURTHER_REQUEST = 2;

/** A request that the clientErrorHandler answers as if it could not be parsed. */
export class RequestFault extends Error {
  constructor(readonly code: 'TOO_MANY_HEADERS' | 'UNCLEAR_LENGTH') {
    super(code);
  }
}

interface Connection {
  inFlight: number;
  latest?: { request: IncomingMessage; response: ServerResponse };
  /** Whether no request is read after the latest one. */
  isLast: boolean;
  /** Whether the connection has had its last answer. */
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
      dropBytesAfterLast(socket, connection);
    });
    server.on('request', (request, response) => {
      const fault = this.admit(request, response);
      if (fault === null) answer(request, response);
      else server.emit('clientError', fault, request.socket);
    });
    // `100 Continue` is sent when the body is read: after authentication (BodyReader).
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
    // Expectations may be ignored (RFC 9110 section 10.1.1). Node itself would answer 417 without the standard headers.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    // Fires after that long without bytes sent or received. Bytes that the peer reads count as sent.
    server.setTimeout(sendSeconds * 1000, (socket: Socket) => {
      const isIdle = this.inFlight(socket) === 0;
      if (!isIdle && socket.writableLength === 0) return;
      socket.destroy();
      this.log.debug('connection closed', { reason: isIdle ? 'idle' : 'answer not read' });
    });
    return server;
  }

  /** The number of parsed requests that are not answered yet. */
  inFlight(socket: Socket): number {
    return this.open.get(socket)?.inFlight ?? 0;
  }

  /**
   * Whether bytes that could not be parsed are answered. Not after a connection's last request. If the client could mistake the answer for
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

  /** Closes idle connections now, and the others once they are idle. Node's own method would also break off answers in progress. */
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
      // No keep-alive before the whole body has arrived, because the rest would have to be parsed to be dropped.
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

/** Drops bytes received after the last request. Node would parse them to further requests before the connection could be closed. */
function dropBytesAfterLast(socket: ServedSocket, connection: Connection): void {
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
    process.nextTick(() => stopParsing(socket)); // by then the server's own listener has resumed reading for its parser
    const late = setTimeout(() => socket.destroy(), DISCARDED.milliseconds).unref();
    socket.once('close', () => clearTimeout(late));
  };
}

/** Detaches the parser from the socket, which adding a listener for bytes does, and drops further bytes. */
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
 * Whether the end of a body is ambiguous, so that another server on the way could find the next request inside it (RFC 9112 sections 6.1
 * and 11.2). Node refuses two lengths, but ignores an empty encoding, and accepts chunks after other encodings and in HTTP/1.0.
 */
function hasUnclearLength({ headers, httpVersion }: IncomingMessage): boolean {
  const encoding = headers['transfer-encoding']; // Node joins several headers
  if (encoding === undefined) return false;
  return encoding !== 'chunked' || headers['content-length'] !== undefined || httpVersion !== '1.1';
}

/**
 * Answers an HTTP/1.1 request without exactly one Host header with 400 (RFC 9112 section 3.2). Node silently keeps the first of several,
 * and answers a missing one without a body, so its own check must be off.
 */
export function requireOneHost(server: FastifyInstance): void {
  server.addHook('preParsing', ({ raw }, _, __, done) => {
    const hosts = raw.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === 'host').length;
    const isGood = hosts === 1 || (hosts === 0 && raw.httpVersion === '1.0');
    done(isGood ? null : new Refused('bad_request', { detail: 'There must be exactly one Host header.' }));
  });
}

/** Milliseconds for which answers announce the end of their connection, so that clients send nothing on a closing connection. */
const GRACE = 1_000;

/**
 * Closes a server without breaking off answers. It accepts no new connections, and for a second every answer has `Connection: close`. Then
 * idle connections are closed, and the others after their answers.
 */
export class ConnectionDrain {
  private draining: Promise<void> | null = null;

  constructor(
    private readonly server: FastifyInstance,
    private readonly connections: Connections,
  ) {
    server.addHook('onSend', ({ raw: { socket } }, { raw: response }, _, done) => {
      // Only the last of several pipelined requests announces the end, because requests after it get no answer.
      if (this.draining !== null && connections.inFlight(socket) > 1) response.removeHeader('Connection');
      else if (this.draining !== null) response.setHeader('Connection', 'close');
      done();
    });
    server.addHook('preClose', () => this.begin());
  }

  /** Resolves when no connection is left, for which the server's own close also waits. */
  begin(): Promise<void> {
    return (this.draining ??= this.drain());
  }

  /** Breaks off all remaining answers. */
  breakOff(): void {
    this.server.server.closeAllConnections();
  }

  private async drain(): Promise<void> {
    const closed = once(this.server.server, 'close');
    await stopListening(this.server.server);
    // One more turn of the event loop lets requests received so far be read.
    const grace = setTimeout(() => void nextTurn().then(() => this.connections.closeIdle()), GRACE);
    await closed;
    clearTimeout(grace);
  }
}

/** Length of the kernel's queue of unaccepted connections: Node's default. */
const BACKLOG = 511;

/**
 * Closes the listening socket once the connections in the kernel's queue are accepted, one in each turn of the event loop. Otherwise they
 * would be reset. The HTTP server's own close comes after the drain.
 */
async function stopListening(server: NetServer): Promise<void> {
  let accepted = 0;
  const count = (): number => (accepted += 1);
  server.on('connection', count);
  // Two quiet turns are needed, because the first may begin after the phase that accepts connections.
  for (let [turns, quiet] = [0, 0]; quiet < 2 && turns < BACKLOG; turns += 1) {
    const former = accepted;
    await nextTurn();
    quiet = accepted === former ? quiet + 1 : 0;
  }
  server.off('connection', count);
  NetServer.prototype.close.call(server);
}
