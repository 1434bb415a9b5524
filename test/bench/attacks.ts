import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { closedLoop, requestText } from './http-load.js';

/** Ports of the service: of the API, of health and metrics. */
export interface Ports {
  api: number;
  operations: number;
}

/** An attack without an account, for as long as the process lives (attack-process.ts). */
export interface Attack {
  what: string;
  run: (ports: Ports) => Promise<void>;
}

/** Bytes a second, of attacks that are limited by them. */
const RATE = 10_000_000;

/** The beginning of a request with a body in chunks. */
const chunked = (method: string, path: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
const ONE_BYTE = '1\r\n \r\n'.repeat(2_000);
const LARGE = `10000\r\n${' '.repeat(65_536)}\r\n`;
const EXTENDED = `1;${'e'.repeat(15_000)}\r\n \r\n`;

/** By the names under which they are asked for. */
export const ATTACKS: Record<string, Attack> = {
  bodies: { what: 'bodies of 1 MiB without a session', run: ({ api }) => unauthenticatedBodies(api) },
  assets: { what: 'assets asked for and never read', run: ({ api }) => unreadAssets(api) },
  'chunks-login': {
    what: 'one-byte chunks to login',
    run: ({ api }) => paced(api, 10, chunked('POST', '/api/auth/login'), ONE_BYTE),
  },
  chunks: {
    what: 'one-byte chunks without a session',
    run: ({ api }) => paced(api, 10, chunked('POST', '/api/queries'), ONE_BYTE),
  },
  'chunks-get': {
    what: 'one-byte chunks on GET',
    run: ({ api }) => paced(api, 10, chunked('GET', '/api/docs'), ONE_BYTE),
  },
  'chunks-operations': {
    what: 'one-byte chunks, on the second port',
    run: ({ operations }) => paced(operations, 10, chunked('GET', '/health/live'), ONE_BYTE),
  },
  'chunks-600': {
    what: 'chunks of 600 bytes',
    run: ({ api }) => paced(api, 10, chunked('POST', '/api/auth/login'), `258\r\n${' '.repeat(600)}\r\n`.repeat(20)),
  },
  'endless-get': {
    what: 'an endless body on GET',
    run: ({ api }) => paced(api, 10, chunked('GET', '/api/auth/me'), LARGE),
  },
  'endless-operations': {
    what: 'endless bodies, on the second port',
    run: ({ operations }) => paced(operations, 10, chunked('GET', '/metrics'), LARGE),
  },
  extensions: {
    what: 'chunk extensions of 15 KB',
    run: ({ api }) => paced(api, 10, chunked('POST', '/api/auth/login'), EXTENDED),
  },
  trailers: {
    what: 'trailers of 15 KB',
    run: ({ api }) => paced(api, 10, '', `${chunked('POST', '/api/auth/login')}0\r\n${'a: b\r\n'.repeat(2_500)}\r\n`),
  },
  headers: { what: '2,000 headers a request', run: ({ api }) => paced(api, 10, '', floodOfHeaders('/nowhere')) },
  'headers-operations': {
    what: '2,000 headers a request, on the second port',
    run: ({ operations }) => paced(operations, 10, '', floodOfHeaders('/nowhere')),
  },
  'endless-headers': {
    what: 'headers without an end',
    run: ({ api }) => paced(api, 10, 'GET / HTTP/1.1\r\n', `a: ${'b'.repeat(10_000)}\r\n`),
  },
  refresh: { what: 'refresh tokens of 13 KB', run: ({ api }) => paced(api, 10, '', refresh(13_000)) },
  'refresh-parts': {
    what: 'refresh tokens of 8 KB in three parts',
    run: ({ api }) => paced(api, 10, '', refresh(8_000, '.')),
  },
  metrics: {
    what: 'metrics, asked for by 32 connections',
    run: ({ operations }) => closed(operations, 32, get('/metrics')),
  },
  readiness: {
    what: 'readiness, asked for by 32 connections',
    run: ({ operations }) => closed(operations, 32, get('/health/ready')),
  },
};

function get(path: string): string {
  return requestText('GET', path, {});
}

function floodOfHeaders(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\n${Array.from({ length: 1_900 }, (_, at) => `${at.toString(36)}:\r\n`).join('')}\r\n`;
}

function refresh(length: number, separator = ''): string {
  const third = 'e30'.repeat(length / 9);
  const token = [third, third, third].join(separator);
  return requestText('POST', '/api/auth/refresh', { body: { refresh_token: token } });
}

/** Each connection sends `beginning` and then `more` for ever, all together RATE bytes a second; a closed one is opened again. */
function paced(port: number, connections: number, beginning: string, more: string): Promise<never> {
  const [first, rest] = [Buffer.from(beginning, 'latin1'), Buffer.from(more, 'latin1')];
  const open = new Set<Socket>();
  let credit = 0;
  let last = performance.now();
  return new Promise<never>(() => {
    setInterval(() => {
      const now = performance.now();
      credit = Math.min(RATE / 10, credit + ((now - last) * RATE) / 1000);
      last = now;
      while (open.size < connections) {
        const socket = connect(port, '127.0.0.1')
          .on('error', () => undefined)
          .on('data', () => undefined);
        socket.once('close', () => open.delete(socket));
        open.add(socket);
        socket.write(first);
      }
      for (let sent = true; sent && credit > 0;) {
        sent = false;
        for (const socket of open) {
          if (socket.writableLength > 65_536 || !socket.writable || credit <= 0) continue;
          socket.write(rest);
          credit -= rest.length;
          sent = true;
        }
      }
    }, 5);
  });
}

async function closed(port: number, connections: number, request: string): Promise<void> {
  await closedLoop(port, connections, () => request);
}
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
