import { createServer, IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import type { AuthenticatedRequest } from '../access.js';
import { NO_DEBT } from '../domain/reading-debt.js';
import { RequestHead } from '../domain/request-head.js';
import type { Log } from '../log.js';
import type { Settings } from '../settings.js';
import { ReadingTurns } from './reading-turns.js';
import { SlicedReading } from './sliced-reading.js';

/** Requests of one connection that wait for their answers; further ones are parsed later. */
const MAX_IN_FLIGHT = 16;

/** Longer than the 60 s of common load balancers, so that this side never closes a connection in use. */
const KEEP_ALIVE_MS = 72_000;

/** How often late requests are checked for; Node's default of 30 s would be added to the limit. */
const CHECK_MS = 1_000;

/** The longest body after which an answer that did not wait for it leaves the connection open. */
const MAX_REST = 65_536;

/** Each piece of a body is some microseconds of work: their mean size, beyond as many as a small body may have. */
const PIECES = { free: 128, meanBytes: 256 };

/** Node's parser does not stop within the bytes that it is given, whatever becomes of their connection: 64 KiB hold 1,900 requests. */
const SLICE = 2_048;

/** As in common servers (Apache's LimitRequestFields). */
const MAX_HEADERS = 100;

/** A request that is well-formed, and would cost too much: answered by the clientErrorHandler, as if it could not be parsed. */
export class RequestTooCostly extends Error {
  /** @param request undefined: only a part of its head has come. */
  constructor(
    readonly code: 'TOO_MANY_PIECES' | 'TOO_MANY_HEADERS',
    readonly request?: IncomingMessage,
  ) {
    super(code);
  }
}

interface Connection {
  inFlight: number;
  latest?: { request: IncomingMessage; response: ServerResponse; keepsAlive: boolean };
  /** What is read of a request before the parser makes one of it. */
  head: RequestHead;
  /** Bytes of the latest request's body that are still to come; Infinity: until it ends. */
  bodyLeft: number;
  /** The latest request, or the one whose head is being read, is answered as if it could not be parsed. */
  tooCostly?: RequestTooCostly;
  /** It has had its last answer. */
  hasEnded: boolean;
  reading?: SlicedReading;
}

/** Of both ports: they share an event loop. */
const turns = new ReadingTurns();

/** The connections of an HTTP server, with limits for each: requests in flight, time to send one, pieces of one, time to read an answer. */
export class Connections {
  readonly open = new Set<Socket>();
  /** Called when no request of a connection is in flight any more, and when it has closed. */
  onIdle: (socket: Socket) => void = () => undefined;
  private readonly connections = new WeakMap<Socket, Connection>();

  constructor(
    private readonly limits: Pick<Settings['http'], 'requestSeconds' | 'sendSeconds'>,
    private readonly log: Log,
  ) {}

  serve(answer: RequestListener): Server {
    const { requestSeconds, sendSeconds } = this.limits;
    const server = createServer({
      IncomingMessage: this.countingPieces(),
      requireHostHeader: false, // requireOneHost answers with a problem document
      headersTimeout: requestSeconds * 1000,
      requestTimeout: requestSeconds * 1000,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    });
    server.on('connection', (socket) => {
      this.open.add(socket);
      socket.once('close', () => {
        this.open.delete(socket);
        this.onIdle(socket);
      });
      const connection = this.of(socket);
      connection.reading = new SlicedReading(socket, turns, {
        mayParse: () => connection.inFlight < MAX_IN_FLIGHT && connection.tooCostly === undefined,
        most: () => (isInBody(connection) && connection.bodyLeft < Infinity ? connection.bodyLeft : SLICE),
        portionOf: (bytes) => portionOf(connection, bytes),
        hasUnread: () => connection.hasEnded || connection.latest?.request.complete === false,
        afterSlice: () => {
          if (connection.tooCostly !== undefined) server.emit('clientError', connection.tooCostly, socket);
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
    const { inFlight, latest, tooCostly } = this.of(socket);
    const isOfLatest = latest?.request.complete === false || tooCostly?.request === latest?.request;
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

  /** Requests that count the pieces of their bodies, and keep their connection open once the whole of it has come. */
  private countingPieces(): typeof IncomingMessage {
    const of = (socket: Socket): Connection => this.of(socket);
    return class extends IncomingMessage {
      private pieces = 0;
      private bytes = 0;

      override push(piece: Buffer | null): boolean {
        const connection = of(this.socket);
        if (piece === null) {
          const { latest } = connection;
          if (latest?.request === this) latest.response.shouldKeepAlive = latest.keepsAlive;
        } else {
          this.pieces += 1;
          this.bytes += piece.length;
          if (this.pieces > PIECES.free + this.bytes / PIECES.meanBytes) {
            connection.tooCostly ??= new RequestTooCostly('TOO_MANY_PIECES', this);
          }
        }
        return super.push(piece);
      }
    };
  }

  /** False: the connection has been closed, and the request is not answered. */
  private admit(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    const connection = this.of(socket);
    if (socket.destroyed || connection.tooCostly !== undefined) return false;
    connection.latest = { request, response, keepsAlive: response.shouldKeepAlive };
    connection.inFlight += 1;
    connection.bodyLeft = bodyLength(request);
    // Until the whole of it has come: what is left of it after an answer would have to be parsed to be thrown away.
    if (connection.bodyLeft > MAX_REST) response.shouldKeepAlive = false;
    response.once('close', () => {
      connection.inFlight -= 1;
      if (connection.inFlight === 0) this.onIdle(socket);
      connection.reading?.lookForMore();
    });
    if (request.rawHeaders.length <= 2 * MAX_HEADERS) return true;
    connection.tooCostly = new RequestTooCostly('TOO_MANY_HEADERS', request);
    return false;
  }

  private close(socket: Socket, reason: string): void {
    socket.destroy();
    this.log.debug('connection closed', { reason });
  }

  private of(socket: Socket): Connection {
    const known = this.connections.get(socket);
    if (known !== undefined) return known;
    const fresh: Connection = { inFlight: 0, hasEnded: false, head: new RequestHead(), bodyLeft: 0 };
    this.connections.set(socket, fresh);
    return fresh;
  }
}

/** Connections of those who are signed in, or have just signed in, owe nothing. */
export function forgiveSignedIn(server: FastifyInstance, connections: Connections): void {
  server.addHook('onSend', (request, { statusCode }, _, done) => {
    const isSignedIn = (request as Partial<AuthenticatedRequest>).user !== undefined;
    const signsIn = request.method === 'POST' && statusCode < 300;
    if (isSignedIn || signsIn) connections.forgive(request.raw.socket);
    done();
  });
}

/** One request at a time, so that no connection has all its requests in one turn; a body goes on until its end. */
function portionOf(connection: Connection, bytes: Buffer): number {
  const { head } = connection;
  if (isInBody(connection)) {
    connection.bodyLeft -= bytes.length;
    head.follow(bytes);
    return bytes.length;
  }
  const portion = head.take(bytes);
  if (head.lines <= MAX_HEADERS + 2) return portion;
  connection.tooCostly = new RequestTooCostly('TOO_MANY_HEADERS');
  return 0;
}

function isInBody({ latest, bodyLeft }: Connection): boolean {
  return latest?.request.complete === false && bodyLeft > 0;
}

/** Bytes; Infinity: it comes in chunks, until it ends. */
function bodyLength({ headers }: IncomingMessage): number {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity;
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
