import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

// Below the range that Linux and macOS hand out for outgoing connections: one of those could take the port before its server does.
const LOWEST = 15_000;
const HIGHEST = 32_000;
const TRIES = 50;

const handedOut = new Set<number>();

/** A TCP port on 127.0.0.1 without a listener, and that this process has not handed out before. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const port = randomInt(LOWEST, HIGHEST);
    if (!handedOut.has(port) && (await isFree(port))) {
      handedOut.add(port);
      return port;
    }
  }
  throw new Error(`no free port found between ${LOWEST} and ${HIGHEST} in ${TRIES} tries`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => {
      resolve(false);
    });
    server.listen(port, '127.0.0.1', () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}
