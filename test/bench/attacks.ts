import { gzipSync } from 'node:zlib';
import { closed, opening, paced, slow, unread } from './attack-sending.js';
import { requestText } from './http-load.js';

/** Ports of the service: of the API, of health and metrics. */
export interface Ports {
  api: number;
  operations: number;
}

/** An attack for as long as the process lives (attack-process.ts). */
export interface Attack {
  what: string;
  /** Others wait for a second at most; else for four times as long as at rest. */
  isBoundInSeconds?: true;
  /** @param target with an access token, for attacks by somebody with an account */
  run: (target: Ports & { token: string }) => Promise<void>;
}

/** The beginning of a request with a body in chunks. */
const chunked = (method: string, path: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
const post = (path: string, body: string, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
const get = (target: string, headers = ''): string => `GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

const LOGIN = '/api/auth/login';
const ONE_BYTE = '1\r\n \r\n'.repeat(2_000);
const LARGE = `10000\r\n${' '.repeat(65_536)}\r\n`;
const EXTENDED = `1;${'e'.repeat(15_000)}\r\n \r\n`;
const TRAILERS = `0\r\n${'a: b\r\n'.repeat(2_500)}\r\n`;
const HEADERS = Array.from({ length: 1_900 }, (_, at) => `${at.toString(36)}:\r\n`).join('');
const parts = (length: number, separator: string): string =>
  Array<string>(3)
    .fill('e30'.repeat(length / 9))
    .join(separator);
const refresh = (token: string): string => post('/api/auth/refresh', JSON.stringify({ refresh_token: token }));
/** Of the values that cost most to read: 349,000 empty objects. */
const OBJECTS = JSON.stringify({ grant: Array<object>(349_000).fill({}) });
const KEYS = JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [at.toString(36), 0])));

/** To the first port: ten connections, all together five megabytes a second. */
const flood = (what: string, beginning: string, more: string): Attack => ({
  what,
  run: ({ api }) => paced(api, 10, beginning, more),
});

/** Requests so small that they cost more than their bytes, or a body that somebody may send and nobody is charged for. */
const smallFlood = (...of: Parameters<typeof flood>): Attack => ({ ...flood(...of), isBoundInSeconds: true });

/** The same, to the second. */
const floodOperations = (what: string, beginning: string, more: string): Attack => ({
  what: `${what}, on the second port`,
  run: ({ operations }) => paced(operations, 10, beginning, more),
});

/** By nobody, by the names under which they are asked for. */
export const ATTACKS: Record<string, Attack> = {
  bodies: flood('bodies of 1 MiB without a session', '', post('/api/admin/grants/batch', OBJECTS)),
  'keys-login': flood('100,000 keys to login', '', post(LOGIN, KEYS)),
  'keys-16k': flood('login with 16 KB of keys', '', post(LOGIN, KEYS.slice(0, 15_995) + '1}')),
  deep: flood(
    'login with JSON of 16 KB that is deep',
    '',
    post(LOGIN, '{"a":'.repeat(2_600) + '1' + '}'.repeat(2_600)),
  ),
  values: flood(
    'login with 5,000 values',
    '',
    post(LOGIN, JSON.stringify({ username: Array<object>(5_000).fill({}) })),
  ),
  gzip: flood(
    'login with a compressed body',
    '',
    post(LOGIN, gzipSync(KEYS).toString('latin1').slice(0, 15_000), 'Content-Encoding: gzip\r\n'),
  ),
  expect: flood('login that expects 100-continue', '', post(LOGIN, '{}', 'Expect: 100-continue\r\n')),
  'chunks-login': smallFlood('one-byte chunks to login', chunked('POST', LOGIN), ONE_BYTE),
  chunks: flood('one-byte chunks without a session', chunked('POST', '/api/queries'), ONE_BYTE),
  'chunks-get': flood('one-byte chunks on GET', chunked('GET', '/api/docs'), ONE_BYTE),
  'chunks-operations': floodOperations('one-byte chunks', chunked('GET', '/health/live'), ONE_BYTE),
  'chunks-600': flood('chunks of 600 bytes', chunked('POST', LOGIN), `258\r\n${' '.repeat(600)}\r\n`.repeat(20)),
  'endless-get': flood('an endless body on GET', chunked('GET', '/api/auth/me'), LARGE),
  'endless-operations': floodOperations('endless bodies', chunked('GET', '/metrics'), LARGE),
  extensions: flood('chunk extensions of 15 KB', chunked('POST', LOGIN), EXTENDED),
  'extensions-operations': floodOperations('chunk extensions of 15 KB', chunked('GET', '/health/live'), EXTENDED),
  trailers: flood('trailers of 15 KB', '', `${chunked('POST', LOGIN)}${TRAILERS}`),
  'trailers-operations': floodOperations('trailers of 15 KB', '', `${chunked('GET', '/health/live')}${TRAILERS}`),
  headers: flood('2,000 headers a request', '', get('/nowhere', HEADERS)),
  'headers-operations': floodOperations('2,000 headers a request', '', get('/nowhere', HEADERS)),
  'headers-90': flood('90 headers a request', '', get('/api/auth/me', HEADERS.slice(0, 90 * 6))),
  'endless-headers': flood('headers without an end', 'GET / HTTP/1.1\r\n', `a: ${'b'.repeat(10_000)}\r\n`),
  'long-header': flood('a header of 15 KB', '', get('/api/auth/me', `a: ${'b'.repeat(15_000)}\r\n`)),
  bearer: flood('access tokens of 15 KB', '', get('/api/auth/me', `Authorization: Bearer ${parts(15_000, '.')}\r\n`)),
  'bearer-short': smallFlood('forged access tokens', '', get('/api/auth/me', `Authorization: Bearer ${forged()}\r\n`)),
  refresh: flood('refresh tokens of 13 KB', '', refresh(parts(13_000, ''))),
  'refresh-parts': flood('refresh tokens of 8 KB in three parts', '', refresh(parts(8_000, '.'))),
  'refresh-short': smallFlood('forged refresh tokens', '', refresh(forged())),
  url: flood('targets of 15 KB', '', get(`/${'a'.repeat(15_000)}`)),
  'url-encoded': flood('targets of 15 KB, escaped', '', get(`/api/queries/${'%61'.repeat(5_000)}`)),
  parameters: flood('5,000 query parameters', '', get(`/api/auth/me?${'a=&'.repeat(5_000)}`)),
  tiny: smallFlood('small requests, one after the other', '', get('/')),
  pipelined: smallFlood('a hundred small requests at once', '', get('/').repeat(100)),
  'pipelined-operations': {
    ...floodOperations('a hundred small requests at once', '', get('/health/live').repeat(100)),
    isBoundInSeconds: true,
  },
  garbage: smallFlood('bytes that are no HTTP', '', '\x16\x03\x01'.repeat(1_000)),
  methods: smallFlood('methods that nobody knows', '', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n'),
  connections: { what: 'connections opened and closed', run: ({ api }) => opening(api, 10, null) },
  'connections-get': { what: 'a connection for each request', run: ({ api }) => opening(api, 10, get('/api/auth/me')) },
  'connections-operations': {
    what: 'a connection for each request, on the second port',
    run: ({ operations }) => opening(operations, 10, get('/health/live')),
  },
  slow: { what: '1,000 connections that send a byte a second', run: ({ api }) => slow(api, 1_000, 'GET /') },
  assets: {
    what: 'assets asked for and never read',
    run: ({ api }) => unread(api, requestText('GET', '/api/docs/swagger-ui-bundle.js', {}).repeat(100)),
  },
  document: {
    what: 'the API document, by 32 connections',
    run: ({ api }) => closed(api, 32, get('/api/openapi.json')),
  },
  metrics: { what: 'metrics, by 32 connections', run: ({ operations }) => closed(operations, 32, get('/metrics')) },
  readiness: {
    what: 'readiness, by 32 connections',
    run: ({ operations }) => closed(operations, 32, get('/health/ready')),
  },
};

/** As long as a real one, of the right form. */
function forged(): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { sub: '1', sid: '0'.repeat(36), type: 'access', iat: 1, exp: 4_000_000_000 };
  return `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}.${'A'.repeat(43)}`;
}
