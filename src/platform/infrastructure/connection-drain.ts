import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Milliseconds in which clients that are still connected are told that their connection ends, and new ones are let in. */
const GRACE = 1_000;

/**
 * Closes a server without breaking off an answer: for a second every answer says `Connection: close`; then connections without a
 * request are closed, the others after their answer. Node's own close destroys connections whose answer is not yet sent.
 */
export class ConnectionDrain {
  /** Requests in flight on each connection. */
  private readonly connections = new Map<Socket, number>();
  private phase: 'open' | 'grace' | 'closing' = 'open';
  private drained: () => void = () => undefined;

  constructor(private readonly server: FastifyInstance) {
    server.server.on('connection', (socket) => this.watch(socket));
    // Before the router's own listener, which may answer at once.
    server.server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.count(socket, 1);
      response.once('close', () => this.count(socket, -1));
    });
    server.addHook('onSend', (request, reply, _, done) => {
      if (this.phase !== 'open') this.announceEnd(request.raw.socket, reply.raw);
      done();
    });
    server.addHook('preClose', () => this.drain());
  }

  /** Breaks off everything that is left. */
  cut(): void {
    for (const socket of this.connections.keys()) socket.destroy();
  }

  private watch(socket: Socket): void {
    this.connections.set(socket, 0);
    socket.once('close', () => {
      this.connections.delete(socket);
      if (this.connections.size === 0) this.drained();
    });
  }

  private count(socket: Socket, change: 1 | -1): void {
    const requests = this.connections.get(socket);
    if (requests === undefined) return;
    this.connections.set(socket, requests + change);
    if (this.phase === 'closing' && requests + change === 0) socket.destroySoon();
  }

  /** Not before the last of several pipelined requests: those after it would have no answer. */
  private announceEnd(socket: Socket, response: ServerResponse): void {
    if (this.connections.get(socket) === 1) response.setHeader('Connection', 'close');
    else response.removeHeader('Connection');
  }

  private async drain(): Promise<void> {
    this.phase = 'grace';
    const drained = new Promise<void>((resolve) => (this.drained = resolve));
    const grace = setTimeout(() => this.close(), GRACE);
    if (this.connections.size > 0) await drained;
    clearTimeout(grace);
  }

  private close(): void {
    this.phase = 'closing';
    NetServer.prototype.close.call(this.server.server); // listens no more; the HTTP server's own close follows the drain
    for (const [socket, requests] of this.connections) if (requests === 0) socket.destroySoon();
  }
}
