import { createServer, IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import type { Log } from '../log.js';
import type { Settings } from '../settings.js';

/** Requests of one connection that have been read and not answered. Clients that pipeline send a few. */
const MAX_IN_FLIGHT = 16;

/** Longer than the 60 s of common load balancers, so that this side never closes a connection in use. */
const KEEP_ALIVE_MS = 72_000;

/** How often late requests are checked for; Node's default of 30 s would be added to the limit. */
const CHECK_MS = 1_000;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

interface Connection {
  inFlight: number;
  latest?: Exchange;
  /** Once it is closed: replaces every further request of it. */
  discarded?: Exchange;
}

/** The connections of an HTTP server, with limits for each: requests in flight, time to send one, time to read an answer. */
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
      ...this.discarding(),
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

  /** Requests that have been read and not answered. */
  inFlight(socket: Socket): number {
    return this.of(socket).inFlight;
  }

  /**
   * Whether an answer written to the socket itself is read as the answer to the bytes that could not be parsed: not while an
   * earlier request waits for its answer, and not where the request being read has been answered.
   */
  mayAnswer(socket: Socket): boolean {
    const { inFlight, latest } = this.of(socket);
    if (latest === undefined || latest.request.complete) return inFlight === 0;
    return inFlight === 1 && !latest.response.headersSent;
  }

  /**
   * Node parses all that it has read, also after the connection was closed: 64 KiB hold 1,900 requests of some kilobytes of
   * objects each. After the close all of them are one and the same object, which stores nothing.
   */
  private discarding(): { IncomingMessage: typeof IncomingMessage; ServerResponse: typeof ServerResponse } {
    const discarded = (socket: Socket): Exchange | undefined => this.connections.get(socket)?.discarded;
    class Request extends IncomingMessage {
      constructor(socket: Socket) {
        super(socket);
        return discarded(socket)?.request ?? this;
      }
    }
    class Response<R extends IncomingMessage> extends ServerResponse<R> {
      constructor(request: R, ...options: unknown[]) {
        super(...([request, ...options] as [R]));
        const response = discarded(request.socket)?.response;
        if (response !== undefined) return response as this;
      }
    }
    return { IncomingMessage: Request, ServerResponse: Response };
  }

  /** False: the connection has been closed, and the request is not answered. */
  private admit(request: IncomingMessage, response: ServerResponse): boolean {
    const { socket } = request;
    if (socket.destroyed) return false;
    const connection = this.of(socket);
    if (connection.inFlight === MAX_IN_FLIGHT) {
      this.close(socket, 'too many requests in flight');
      connection.discarded = forgetful(request, response);
      return false;
    }
    connection.inFlight += 1;
    connection.latest = { request, response };
    response.once('close', () => {
      connection.inFlight -= 1;
      if (connection.inFlight === 0) this.onIdle(socket);
    });
    return true;
  }

  private close(socket: Socket, reason: string): void {
    socket.destroy();
    this.log.debug('connection closed', { reason });
  }

  private of(socket: Socket): Connection {
    const known = this.connections.get(socket);
    if (known !== undefined) return known;
    const fresh: Connection = { inFlight: 0 };
    this.connections.set(socket, fresh);
    return fresh;
  }
}

/** Makes a request and its response, which are not handled, store nothing that Node's parser adds to them. */
function forgetful(request: IncomingMessage, response: ServerResponse): Exchange {
  const nothing =
    <T>(self: T) =>
    () =>
      self;
  Object.assign(request, {
    _addHeaderLines: () => undefined,
    push: () => true,
    destroy: nothing(request),
    on: nothing(request),
  });
  Object.assign(response, { on: nothing(response), destroy: nothing(response) });
  return { request, response };
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
