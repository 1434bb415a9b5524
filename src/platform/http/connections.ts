import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import type { Log } from '../log/log.js';
import type { Settings } from '../settings/settings.js';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The most unanswered requests of one connection. A connection that reaches this limit is closed after its last answer. */
const MAX_IN_FLIGHT = 16;

/** The time after which an idle connection is closed. More than the 60 s of load balancers, so that the load balancer closes a connection first. */
const KEEP_ALIVE_MS = 72_000;

/** The interval at which Node looks for late requests. With Node's default, a request could exceed its time limit by 30 s. */
const LATE_CHECK_MS = 1_000;

/** The longest body of a request that may be answered unread without closing the connection. */
const MAX_UNREAD_BYTES = 65_536;

/** The most headers of a request, as in common servers (Apache's LimitRequestFields). Node's own limit silently drops further headers. */
const MAX_HEADERS = 100;

/** Limits for what a client still sends after the last answer of its connection. These bytes are read and dropped. */
const DISCARD_LIMITS = { bytes: 2 * 1024 * 1024, milliseconds: 5_000 };

/** The return value of `onIncoming` at which Node's parser assumes an upgrade and does not parse the rest of the received bytes. */
const NO_FURTHER_REQUEST = 2;

/** A fault of a parsed request. clientErrorHandler answers it like a request that cannot be parsed. */
export class RequestFault extends Error {
  constructor(readonly code: 'TOO_MANY_HEADERS' | 'UNCLEAR_LENGTH') {
    super(code);
  }
}

interface Connection {
  /** The number of requests that are not answered yet. */
  requestCount: number;
  exchange?: { request: IncomingMessage; response: ServerResponse };
  /** Whether the latest request is the connection's last. Later requests are not read. */
  isLast: boolean;
  /** Whether the last answer was sent and the connection is being closed. */
  isClosing: boolean;
}

interface ServedSocket extends Socket {
  parser?: { onIncoming: (request: IncomingMessage, keepsAlive: boolean) => number };
}

/** Limits, for each connection of an HTTP server, the unanswered requests, the time to send a request and the time to read an answer. */
export class Connections {
  private readonly openConnections = new Map<Socket, Connection>();
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
      connectionsCheckingInterval: LATE_CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
    server.on('connection', (socket: ServedSocket) => {
      const connection: Connection = { requestCount: 0, isLast: false, isClosing: false };
      this.openConnections.set(socket, connection);
      socket.once('close', () => this.openConnections.delete(socket));
      closeInStages(socket, connection);
      dropBytesAfterLast(socket, connection);
    });
    server.on('request', (request, response) => {
      const fault = this.admitRequest(request, response);
      if (fault === null) answer(request, response);
      else server.emit('clientError', fault, request.socket);
    });
    // A request with `Expect: 100-continue` is handled like others. BodyReader sends `100 Continue` after authentication.
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
    // Other expectations are ignored (RFC 9110 section 10.1.1). Node itself would answer 417 without the standard headers.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    // Called after `sendSeconds` without sent or received bytes. A busy connection without unsent bytes stays open: its answer is still being made.
    server.setTimeout(sendSeconds * 1000, (socket: Socket) => {
      const isIdle = this.inFlightCountOf(socket) === 0;
      if (!isIdle && socket.writableLength === 0) return;
      socket.destroy();
      this.log.debug('connection closed', { reason: isIdle ? 'idle' : 'answer not read' });
    });
    return server;
  }

  /** The number of parsed requests that are not answered yet. */
  inFlightCountOf(socket: Socket): number {
    return this.openConnections.get(socket)?.requestCount ?? 0;
  }

  /**
   * Whether to answer bytes that could not be parsed. Bytes after a connection's last request get no answer. If the client could mistake the
   * answer for the answer to an earlier request, this method closes the connection and returns false.
   */
  mayAnswerUnparsed(socket: Socket): boolean {
    const { requestCount = -1, exchange, isLast = false, isClosing = false } = this.openConnections.get(socket) ?? {};
    const isBetweenRequests = exchange?.request.complete !== false;
    if (isClosing || (isLast && isBetweenRequests)) return false;
    const isAnswerClear = isBetweenRequests ? requestCount === 0 : requestCount === 1 && !exchange.response.headersSent;
    if (!isAnswerClear) socket.destroy();
    return isAnswerClear;
  }

  /** Closes idle connections now, and the others once they are idle. Node's own method would break off answers in progress. */
  closeIdle(): void {
    this.isStopping = true;
    for (const [socket, { requestCount, isClosing }] of this.openConnections)
      if (requestCount === 0 && !isClosing) socket.destroy();
  }

  private admitRequest(request: IncomingMessage, response: ServerResponse): RequestFault | null {
    const { socket, headers } = request;
    const bodyBytes = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
    const connection = this.openConnections.get(socket) ?? { requestCount: 0, isLast: false, isClosing: false };
    connection.exchange = { request, response };
    connection.requestCount += 1;
    connection.isLast = !response.shouldKeepAlive || connection.requestCount === MAX_IN_FLIGHT;
    if (connection.isLast) response.shouldKeepAlive = false;
    else if (bodyBytes > MAX_UNREAD_BYTES) {
      // An answer sent before the whole body has arrived closes the connection, because keeping it open would mean parsing the rest of the body.
      response.shouldKeepAlive = false;
      request.once('end', () => (response.shouldKeepAlive = true));
    }
    response.once('close', () => {
      connection.requestCount -= 1;
      if (this.isStopping && connection.requestCount === 0) socket.destroySoon();
    });
    if (request.rawHeaders.length > 2 * MAX_HEADERS) return new RequestFault('TOO_MANY_HEADERS');
    return hasUnclearLength(request) ? new RequestFault('UNCLEAR_LENGTH') : null;
  }
}

/** Drops bytes received after the last request. Node would parse them as further requests before the connection is closed. */
function dropBytesAfterLast(socket: ServedSocket, connection: Connection): void {
  const { parser } = socket;
  if (parser === undefined) throw new Error('the HTTP server has no parser for its connection');
  const originalOnIncoming = parser.onIncoming;
  parser.onIncoming = (request, keepsAlive) => {
    const { isLast, exchange } = connection;
    const closesAfterAnswer = exchange?.response.headersSent === true && !exchange.response.shouldKeepAlive;
    if (!isLast && !closesAfterAnswer) return originalOnIncoming(request, keepsAlive);
    connection.isLast = true;
    stopParsing(socket);
    if (!connection.isClosing) socket.pause();
    return NO_FURTHER_REQUEST;
  };
}

/**
 * Makes Node close the connection in stages (RFC 9112 section 9.6) after its last answer. Closing a connection with unread bytes makes
 * the kernel send a reset, by which the client can lose that answer.
 */
function closeInStages(socket: Socket, connection: Connection): void {
  socket.destroySoon = () => {
    if (connection.isClosing) return;
    connection.isLast = true;
    connection.isClosing = true;
    socket.end();
    socket.resume();
    process.nextTick(() => stopParsing(socket)); // by then the server's own listener has resumed reading for its parser
    const closeTimer = setTimeout(() => socket.destroy(), DISCARD_LIMITS.milliseconds).unref();
    socket.once('close', () => clearTimeout(closeTimer));
  };
}

/** Detaches Node's parser from the socket, by adding a listener for `data`, and drops further bytes. */
function stopParsing(socket: Socket): void {
  let remainingBytes = DISCARD_LIMITS.bytes;
  socket.removeAllListeners('data');
  socket.on('data', ({ length }: Buffer) => {
    remainingBytes -= length;
    if (remainingBytes < 0) socket.destroy();
  });
}

/**
 * Whether the end of a body is ambiguous, so that a proxy could take a part of the body for the next request (RFC 9112 sections 6.1 and
 * 11.2). Node itself accepts some of these requests, such as an empty `Transfer-Encoding`, or chunks in HTTP/1.0.
 */
function hasUnclearLength({ headers, httpVersion }: IncomingMessage): boolean {
  const encoding = headers['transfer-encoding']; // Node joins several headers
  if (encoding === undefined) return false;
  return encoding !== 'chunked' || headers['content-length'] !== undefined || httpVersion !== '1.1';
}

/**
 * Answers 400 to an HTTP/1.1 request without exactly one Host header (RFC 9112 section 3.2). Node's own check must be off: Node silently
 * keeps the first of several headers, and answers without a body if there is none.
 */
export function requireOneHost(server: FastifyInstance): void {
  server.addHook('preParsing', ({ raw }, _, __, done) => {
    const hostCount = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
    const isValid = hostCount === 1 || (hostCount === 0 && raw.httpVersion === '1.0');
    done(isValid ? null : new Refused('bad_request', { detail: 'There must be exactly one Host header.' }));
  });
}

/** Milliseconds for which answers have `Connection: close` before connections are closed, so that clients send nothing more on them. */
const CLOSE_NOTICE_MS = 1_000;

/**
 * Closes a server without breaking off answers. The server accepts no new connections, and for a second every answer has
 * `Connection: close`. After that second idle connections are closed at once, and the others after their answers.
 */
export class ConnectionDrain {
  private drainPromise: Promise<void> | null = null;

  constructor(
    private readonly server: FastifyInstance,
    private readonly connections: Connections,
  ) {
    server.addHook('onSend', ({ raw: { socket } }, { raw: response }, _, done) => {
      // Only the last answer to pipelined requests has `Connection: close`, because Node answers no request after such an answer.
      if (this.drainPromise !== null && connections.inFlightCountOf(socket) > 1) response.removeHeader('Connection');
      else if (this.drainPromise !== null) response.setHeader('Connection', 'close');
      done();
    });
    server.addHook('preClose', () => this.begin());
  }

  /** Begins the drain. Resolves when no connection is left. The server's own close also waits for the drain. */
  begin(): Promise<void> {
    return (this.drainPromise ??= this.drain());
  }

  breakOff(): void {
    this.server.server.closeAllConnections();
  }

  private async drain(): Promise<void> {
    const closeEvent = once(this.server.server, 'close');
    await stopListening(this.server.server);
    // Requests received so far are read in one more turn of the event loop, before idle connections are closed.
    const closeTimer = setTimeout(() => void nextTurn().then(() => this.connections.closeIdle()), CLOSE_NOTICE_MS);
    await closeEvent;
    clearTimeout(closeTimer);
  }
}

/** Length of the kernel's queue of connections that are not accepted yet. It is Node's default. */
const BACKLOG = 511;

/**
 * Closes the listening socket after the connections in the kernel's queue are accepted, one in each turn of the event loop. Otherwise these
 * connections would be reset. The HTTP server's own close comes after the drain.
 */
async function stopListening(server: NetServer): Promise<void> {
  let acceptedCount = 0;
  const countConnection = (): number => (acceptedCount += 1);
  server.on('connection', countConnection);
  // Waits for two turns of the event loop without a new connection. A single turn can begin after the phase that accepts connections.
  for (let [turns, quietTurns] = [0, 0]; quietTurns < 2 && turns < BACKLOG; turns += 1) {
    const formerCount = acceptedCount;
    await nextTurn();
    quietTurns = acceptedCount === formerCount ? quietTurns + 1 : 0;
  }
  server.off('connection', countConnection);
  NetServer.prototype.close.call(server);
}
