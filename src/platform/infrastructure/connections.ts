import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import type { AuthenticatedRequest } from '../access.js';
import { ChunkedBody, type ChunkFault } from '../domain/chunked-body.js';
import { lengthFault, type LengthFault } from '../domain/length-fault.js';
import { NO_DEBT } from '../domain/reading-debt.js';
import { RequestHead } from '../domain/request-head.js';
import type { Log } from '../log.js';
import type { Settings } from '../settings.js';
import { ReadingTurns } from './reading-turns.js';
import { NOTHING, SlicedReading, type Taken } from './sliced-reading.js';

/** Requests of one connection that wait for their answers; further ones are parsed later. */
const MAX_IN_FLIGHT = 16;

/** Longer than the 60 s of common load balancers, so that this side never closes a connection in use. */
const KEEP_ALIVE_MS = 72_000;

/** How often late requests are checked for; Node's default of 30 s would be added to the limit. */
const CHECK_MS = 1_000;

/** The longest body after which an answer that did not wait for it leaves the connection open. */
const MAX_REST = 65_536;

/** Node's parser does not stop within the bytes that it is given, whatever becomes of their connection: 64 KiB hold 1,900 requests. */
const SLICE = 2_048;

/** Of a body, of which the parser makes one event, however it was sent. */
const BODY_SLICE = 16_384;

/** As in common servers (Apache's LimitRequestFields). */
const MAX_HEADERS = 100;

/** A request that the parser is not given to its end: answered by the clientErrorHandler, as if it could not be parsed. */
export class UnparsedRequest extends Error {
  /** @param request undefined: only a part of its head has come. */
  constructor(
    readonly code: ChunkFault | 'TOO_MANY_HEADERS' | LengthFault,
    readonly request?: IncomingMessage,
  ) {
    super(code);
  }
}

/** Of a socket, its Connection. Nothing here is in a Map or Set: see `open`. */
const CONNECTION = Symbol('connection');

interface Connection {
  /** Its place among the open ones. */
  at: number;
  inFlight: number;
  latest?: { request: IncomingMessage; response: ServerResponse; keepsAlive: boolean };
  /** What is read of a request before the parser makes one of it. */
  head: RequestHead;
  /** The rest of the latest request's body: bytes that are still to come, or chunks. */
  body: number | ChunkedBody;
  /** The latest request, or the one whose head is being read, is answered as if it could not be parsed. */
  unparsed?: UnparsedRequest;
  /** It has had its last answer. */
  hasEnded: boolean;
  reading?: SlicedReading;
}

interface ServedSocket extends Socket {
  [CONNECTION]?: Connection;
}

/** Of both ports: they share an event loop. */
const turns = new ReadingTurns();

/** The connections of an HTTP server, with limits for each: requests in flight, time to send one, time to read an answer. */
export class Connections {
  /**
   * No Set: V8 links each outgrown table of one to the next, so that minor collections keep all of them, with the requests of
   * connections that have closed: of a server that answers at once, a fifth of all it allocates.
   */
  readonly open: Socket[] = [];
  /** Called when no request of a connection is in flight any more, and when it has closed. */
  onIdle: (socket: Socket) => void = () => undefined;

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
    server.on('connection', (socket) => {
      const connection = this.of(socket);
      connection.at = this.open.push(socket) - 1;
      socket.once('close', () => {
        this.forget(connection);
        this.onIdle(socket);
      });
      connection.reading = new SlicedReading(socket, turns, {
        mayParse: () => connection.inFlight < MAX_IN_FLIGHT && connection.unparsed === undefined,
        most: () => (isInBody(connection) ? BODY_SLICE : SLICE),
        take: (bytes) => (isInBody(connection) ? takeOfBody(connection, bytes) : takeOfHead(connection, bytes)),
        hasUnread: () => connection.hasEnded || connection.latest?.request.complete === false,
        afterSlice: () => {
          if (connection.unparsed !== undefined) server.emit('clientError', connection.unparsed, socket);
        },
      });
    });
    server.on('request', (request, response) => {
      if (this.admit(request, response)) answer(request, response);
    });
    // `100 Continue` is sent when the body is read: after authentication (JsonBodyGuard).
    server.on('checkContinue', (request, response) => server.emit('request', request, response));
    // Expectations may be ignored (RFC 9110 section 10.1.1); Node would answer 417 without our headers.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    // Nothing sent or received for that long; bytes that the peer reads count.
    server.setTimeout(sendSeconds * 1000, (socket: Socket) => {
      const isIdle = this.inFlight(socket) === 0;
      if (isIdle || socket.writableLength > 0) this.close(socket, isIdle ? 'idle' : 'answer not read');
    });
    return server;
  }

  /** Requests that have been parsed and not answered; bytes of further ones may wait in the socket. */
  inFlight(socket: Socket): number {
    return this.of(socket).inFlight;
  }

  /**
   * Whether an answer written to the socket itself is read as the answer to the bytes that could not be parsed: not while an
   * earlier request waits for its answer, and not where the request being read has been answered.
   */
  mayAnswer(socket: Socket): boolean {
    const { inFlight, latest, unparsed } = this.of(socket);
    const isOfLatest = latest?.request.complete === false || unparsed?.request === latest?.request;
    if (latest === undefined || !isOfLatest) return inFlight === 0;
    return inFlight === 1 && !latest.response.headersSent;
  }

  /** What a signed-in person's requests take is that person's. */
  forgive(socket: Socket): void {
    const { reading } = this.of(socket);
    if (reading !== undefined) reading.debt = NO_DEBT;
  }

  /** Writes the last answer of a connection, of which nothing more is parsed. */
  end(socket: Duplex, answer: string): void {
    socket.write(answer);
    if (!(socket instanceof Socket)) return;
    this.of(socket).hasEnded = true;
    socket.destroySoon();
  }

  /** False: the connection has been closed, and the request is not answered. */
  private admit(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.of(socket);
    if (socket.destroyed || connection.unparsed !== undefined) return false;
    connection.latest = { request, response, keepsAlive: response.shouldKeepAlive };
    connection.inFlight += 1;
    connection.body = bodyOf(request);
    // Until the whole of it has come: what is left of it after an answer would have to be parsed to be thrown away.
    if (typeof connection.body !== 'number' || connection.body > MAX_REST) response.shouldKeepAlive = false;
    response.once('close', () => {
      connection.inFlight -= 1;
      if (connection.inFlight === 0) this.onIdle(socket);
      connection.reading?.lookForMore();
    });
    const fault = request.rawHeaders.length > 2 * MAX_HEADERS ? 'TOO_MANY_HEADERS' : lengthFault(request);
    if (fault === null) return true;
    connection.unparsed = new UnparsedRequest(fault, request);
    return false;
  }

  private forget({ at }: Connection): void {
    const last = this.open.pop();
    if (last === undefined || at === this.open.length) return;
    this.open[at] = last;
    this.of(last).at = at;
  }

  private close(socket: Socket, reason: string): void {
    socket.destroy();
    this.log.debug('connection closed', { reason });
  }

  private of(socket: ServedSocket): Connection {
    const known = socket[CONNECTION];
    if (known !== undefined) return known;
    const fresh: Connection = { at: -1, inFlight: 0, hasEnded: false, head: new RequestHead(), body: 0 };
    socket[CONNECTION] = fresh;
    return fresh;
  }
}

/** Connections of those who are signed in, or have just signed in, owe nothing; but for requests that are too many. */
export function forgiveSignedIn(server: FastifyInstance, connections: Connections): void {
  server.addHook('onSend', (request, { statusCode }, _, done) => {
    const isSignedIn = (request as Partial<AuthenticatedRequest>).user !== undefined;
    const signsIn = request.method === 'POST' && statusCode < 300;
    if (statusCode !== 429 && (isSignedIn || signsIn)) connections.forgive(request.raw.socket);
    done();
  });
}

/** One request at a time, so that no connection has all its requests in one turn. */
function takeOfHead(connection: Connection, bytes: Buffer): Taken {
  const { head } = connection;
  const used = head.take(bytes);
  if (head.lines <= MAX_HEADERS + 2) return { used, parsed: bytes.subarray(0, used) };
  connection.unparsed = new UnparsedRequest('TOO_MANY_HEADERS');
  return NOTHING;
}

/** When the whole of the body has come, its connection can be kept. */
function takeOfBody(connection: Connection, bytes: Buffer): Taken {
  const { latest, body } = connection;
  const taken = typeof body === 'number' ? counted(bytes, body) : body.take(bytes);
  if (typeof body === 'number') connection.body = body - taken.used;
  else if (body.hasEnded) connection.body = 0;
  else if (body.fault !== null) {
    connection.unparsed = new UnparsedRequest(body.fault, latest?.request);
    return NOTHING;
  }
  if (connection.body === 0 && latest !== undefined) latest.response.shouldKeepAlive = latest.keepsAlive;
  return taken;
}

function counted(bytes: Buffer, left: number): Taken {
  const used = Math.min(bytes.length, left);
  return { used, parsed: bytes.subarray(0, used) };
}

function isInBody({ latest, body }: Connection): boolean {
  return latest?.request.complete === false && body !== 0;
}

function bodyOf({ headers }: IncomingMessage): number | ChunkedBody {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : new ChunkedBody();
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
