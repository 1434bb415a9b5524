import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refused } from '../kernel/errors.js';
import { acceptsCoding } from '../platform/http/compression.js';
import { PAGE_PATHS } from './domain/page-paths.js';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder into which `npm run build` writes the browser's files. */
const FOLDER = fileURLToPath(new URL('../../dist/console/browser', import.meta.url));

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file in memory, with its compressed forms. */
interface BuiltFile {
  type: string;
  plain: Buffer;
  br: Buffer | null;
  gzip: Buffer | null;
}

/** The page, and its files by name. @throws Error when nothing was built */
function readBuiltFiles(): { page: BuiltFile; assets: ReadonlyMap<string, BuiltFile> } {
  const page = join(FOLDER, 'index.html');
  if (!existsSync(page)) throw new Error(`${page} is missing: npm run build makes it`);
  const names = readdirSync(join(FOLDER, 'assets')).filter((name) => extname(name) in TYPES);
  const assets = names.map((name) => [name, readFile(join(FOLDER, 'assets', name))] as const);
  return { page: readFile(page), assets: new Map(assets) };
}

function readFile(path: string): BuiltFile {
  const compressed = (end: string): Buffer | null => (existsSync(path + end) ? readFileSync(path + end) : null);
  return {
    type: TYPES[extname(path)] ?? '',
    plain: readFileSync(path),
    br: compressed('.br'),
    gzip: compressed('.gz'),
  };
}

/** Only scripts, styles and requests of this origin; no script can turn text into markup or scripts. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** `same-origin`: requests to this origin have a Referer (`isSameOrigin`), those to other sites have none. */
const PAGE_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
} as const;

/** Serves the web console's one page at each of its addresses, and the files it loads, out of memory. */
export function serveConsole(server: FastifyInstance): void {
  const { page, assets } = readBuiltFiles();
  for (const path of PAGE_PATHS) {
    server.get(path, (request, reply) => send(page, request, reply.headers(PAGE_HEADERS)));
  }
  // An address that somebody opens in a browser, and that nothing has.
  server.addHook('onRequest', (request, reply, done) => {
    const { is404, method, url, headers } = request;
    if (!is404 || method !== 'GET' || url.startsWith('/api/') || headers.accept?.includes('text/html') !== true) done();
    else void send(page, request, reply.code(404).headers(PAGE_HEADERS));
  });
  server.get<{ Params: { name: string } }>('/assets/:name', (request, reply) => {
    const file = assets.get(request.params.name);
    if (file === undefined) throw new Refused('not_found');
    // The name has the hash of the content.
    return send(file, request, reply.header('Cache-Control', 'public, max-age=31536000, immutable'));
  });
}

function send(file: BuiltFile, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  void reply.type(file.type).header('Vary', 'Accept-Encoding');
  for (const coding of ['br', 'gzip'] as const) {
    const body = file[coding];
    if (body !== null && acceptsCoding(headers['accept-encoding'], coding)) {
      return reply.header('Content-Encoding', coding).send(body);
    }
  }
  return reply.send(file.plain);
}
