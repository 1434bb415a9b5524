import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { closedLoop, requestText } from './http-load.js';

/** An attack on the service at a port, for as long as the process lives (attack-process.ts). */
export type Attack = (port: number) => Promise<void>;

/** Attacks without an account. */
export const ATTACKS: Record<string, Attack> = {
  'bodies of 1 MiB without a session': unauthenticatedBodies,
  'assets asked for and never read': unreadAssets,
};

/** Of the values that cost most to read: 350,000 empty objects. */
const BODY = requestText('POST', '/api/admin/grants/batch', { body: { grant: Array<object>(349_000).fill({}) } });

/** Five times as many as were found to be enough. */
async function unauthenticatedBodies(port: number): Promise<void> {
  await closedLoop(port, 2, async (_, last) => {
    if (last !== null && last.status !== 401) throw new Error(`${last.status} ${last.body}`);
    await pause(200);
    return BODY;
  });
}

const ASSETS = requestText('GET', '/api/docs/swagger-ui-bundle.js', {}).repeat(100);

/** Three connections with a hundred requests each, opened anew four times a second. */
async function unreadAssets(port: number): Promise<void> {
  const connection = async (): Promise<void> => {
    for (;;) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined); // it is closed: that is the point
      socket.pause().write(ASSETS);
      await pause(250);
      socket.destroy();
    }
  };
  await Promise.all([connection(), connection(), connection()]);
}
