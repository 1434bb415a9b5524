import { Server as NetServer, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.js';

/** Milliseconds in which answers announce the end of their connection, so that clients do not send on what is being closed. */
const GRACE = 1_000;

/**
 * Closes a server without breaking off an answer: no new connections; for a second every answer on the others has
 * `Connection: close`; then idle ones are closed, the rest after their answer. Node's own close destroys connections
 * whose answer has not been sent.
 */
export class ConnectionDrain {
  private phase: 'open' | 'grace' | 'closing' = 'open';
  private drained: () => void = () => undefined;
  private draining: Promise<void> | null = null;

  constructor(
    private readonly server: FastifyInstance,
    private readonly connections: Connections,
  ) {
    connections.onIdle = (socket) => {
      if (this.phase === 'closing' && socket.readableLength === 0) socket.destroySoon();
      if (connections.open.length === 0) this.drained();
    };
    server.addHook('onSend', (request, reply, _, done) => {
      if (this.phase !== 'open') this.announceEnd(request.raw.socket, reply.raw);
      done();
    });
    server.addHook('preClose', () => this.begin());
  }

  /** Resolves when no connection is left. The server's own close waits for that, too. */
  begin(): Promise<void> {
    this.draining ??= this.drain();
    return this.draining;
  }

  /** Breaks off all answers that are left. */
  cut(): void {
    for (const socket of this.connections.open) socket.destroy();
  }

  /** In the last of several pipelined requests only: those after it would get no answer. */
  private announceEnd(socket: Socket, response: ServerResponse): void {
    if (this.connections.inFlight(socket) === 1 && socket.readableLength === 0)
      response.setHeader('Connection', 'close');
    else response.removeHeader('Connection');
  }

  private async drain(): Promise<void> {
    this.phase = 'grace';
    const drained = new Promise<void>((resolve) => (this.drained = resolve));
    await stopListening(this.server.server);
    const grace = setTimeout(() => this.close(), GRACE);
    if (this.connections.open.length > 0) await drained;
    clearTimeout(grace);
  }

  private close(): void {
    this.phase = 'closing';
    for (const socket of this.connections.open) {
      if (this.connections.inFlight(socket) === 0 && socket.readableLength === 0) socket.destroySoon();
    }
  }
}

/** The HTTP server's own close, which does more, follows the drain. */
async function stopListening(server: NetServer): Promise<void> {
  await setImmediate(); // what the kernel has accepted by now would be reset: the event loop takes it first
  NetServer.prototype.close.call(server);
}
