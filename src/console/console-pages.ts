import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Refused } from '../kernel/errors.js';
import { acceptsCoding } from '../platform/http/compression.js';
import { PAGE_PATHS } from './domain/page-paths.js';
import { type BuiltFile, readBuiltFiles } from './infrastructure/built-files.js';

/** Scripts, styles and requests of this origin alone; no script can make markup or scripts out of text. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Requests of the page to this origin say where they come from (`isSameOrigin`), those to other sites do not. */
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
