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

/** As many connections as the kernel keeps for a server that does not take them: Node's default. */
const BACKLOG = 511;

/**
 * Closes the listening socket once what the kernel has accepted is taken, which would be reset: one connection in a turn of the event loop. The
 * HTTP server's own close, which does more, follows the drain.
 */
async function stopListening(server: NetServer): Promise<void> {
  let taken = 0;
  const count = (): number => (taken += 1);
  server.on('connection', count);
  // The first turn may have begun behind the place where connections are taken.
  for (let [turns, quiet] = [0, 0]; quiet < 2 && turns < BACKLOG; turns += 1) {
    const before = taken;
    await setImmediate();
    quiet = taken === before ? quiet + 1 : 0;
  }
  server.off('connection', count);
  NetServer.prototype.close.call(server);
}
