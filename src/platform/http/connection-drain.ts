import { once } from 'node:events';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Connections } from './connections.js';

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
    this.draining ??= this.drain();
    return this.draining;
  }

  /** Breaks off all answers that are left. */
  cut(): void {
    this.connections.closeAll();
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
  let taken = 0;
  const count = (): number => (taken += 1);
  server.on('connection', count);
  // The first turn may have begun behind the place where connections are taken.
  for (let [turns, quiet] = [0, 0]; quiet < 2 && turns < BACKLOG; turns += 1) {
    const before = taken;
    await nextTurn();
    quiet = taken === before ? quiet + 1 : 0;
  }
  server.off('connection', count);
  NetServer.prototype.close.call(server);
}
