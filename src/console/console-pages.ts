import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refused } from '../kernel/errors.js';
import { acceptsCoding } from '../platform/http/compression.js';
import { PAGE_PATHS } from './domain/page-paths.js';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder into which `npm run build` writes the browser's files. */
const BUILD_FOLDER = fileURLToPath(new URL('../../dist/console/browser', import.meta.url));

const CONTENT_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A file in memory, with its compressed forms. */
interface BuiltFile {
  type: string;
  content: Buffer;
  br: Buffer;
  gzip: Buffer;
}

function readFile(path: string): BuiltFile {
  return {
    type: CONTENT_TYPES[extname(path)] ?? '',
    content: readFileSync(path),
    br: readFileSync(`${path}.br`),
    gzip: readFileSync(`${path}.gz`),
  };
}

/** Allows only scripts, styles and requests of this origin. Trusted Types forbid scripts to turn text into markup or code. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** The Referrer-Policy gives requests to this origin a Referer, which `isSameOrigin` reads, and hides it from other sites. */
const PAGE_HEADERS = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Referrer-Policy': 'same-origin',
  'Cache-Control': 'no-cache',
} as const;

/** Serves the web console's one HTML page at each of its addresses, and the files that it loads, from memory. @throws Error when nothing was built */
export function serveConsole(server: FastifyInstance): void {
  const pagePath = join(BUILD_FOLDER, 'index.html');
  if (!existsSync(pagePath)) throw new Error(`${pagePath} is missing: npm run build makes it`);
  const page = readFile(pagePath);
  const names = readdirSync(join(BUILD_FOLDER, 'assets')).filter((name) => extname(name) in CONTENT_TYPES);
  const assets = new Map(names.map((name) => [name, readFile(join(BUILD_FOLDER, 'assets', name))]));
  for (const path of PAGE_PATHS) {
    server.get(path, (request, reply) => sendFile(page, request, reply.headers(PAGE_HEADERS)));
  }
  // An unknown address that is opened in a browser gets the page with status 404.
  server.addHook('onRequest', (request, reply, done) => {
    const { is404, method, url, headers } = request;
    if (!is404 || method !== 'GET' || url.startsWith('/api/') || headers.accept?.includes('text/html') !== true) done();
    else void sendFile(page, request, reply.code(404).headers(PAGE_HEADERS));
  });
  server.get<{ Params: { name: string } }>('/assets/:name', (request, reply) => {
    const file = assets.get(request.params.name);
    if (file === undefined) throw new Refused('not_found');
    // The name contains the hash of the content, so the file never changes.
    return sendFile(file, request, reply.header('Cache-Control', 'public, max-age=31536000, immutable'));
  });
}

function sendFile(file: BuiltFile, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  void reply.type(file.type).header('Vary', 'Accept-Encoding');
  const coding = (['br', 'gzip'] as const).find((each) => acceptsCoding(headers['accept-encoding'], each));
  return coding === undefined ? reply.send(file.content) : reply.header('Content-Encoding', coding).send(file[coding]);
}
