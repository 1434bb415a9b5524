import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest, FastifyInstance } from 'fastify';
import { acceptsCoding, compress } from './compression.js';

const ASSETS: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Grantline API</title>
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
<link rel="icon" href="/api/docs/favicon-32x32.png">
</head>
<body>
<div id="api"></div>
<script src="/api/docs/swagger-ui-bundle.js"></script>
<script src="/api/docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({ url: '/api/openapi.json', domNode: document.getElementById('api'), deepLinking: true });\n`;

/** Allows scripts from this server only. Swagger UI also needs inline styles and icons in data: URLs. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

/**
 * Serves the OpenAPI document, and Swagger UI from its package, so that it works without the internet. Each is made at its first request,
 * because describing the routes takes a third of the time of a start.
 */
export function serveApiDescription(server: FastifyInstance, describe: () => OpenAPIObject): void {
  const serve = (path: string, content: () => Buffer | string, type: string): void => {
    server.get(path, staticBody(content, type));
  };
  serve('/api/openapi.json', () => JSON.stringify(describe()), 'application/json; charset=utf-8');
  const page = staticBody(() => PAGE, 'text/html; charset=utf-8');
  server.get('/api/docs', (request, reply) => page(request, reply.header('Content-Security-Policy', PAGE_POLICY)));
  serve('/api/docs/start.js', () => START, 'text/javascript; charset=utf-8');
  const { resolve } = createRequire(import.meta.url);
  for (const [name, type] of Object.entries(ASSETS)) {
    serve(`/api/docs/${name}`, () => readFileSync(resolve(`swagger-ui-dist/${name}`)), type);
  }
}

/** Sends a body that never changes, which is made and compressed once. */
function staticBody(content: () => Buffer | string, type: string) {
  let plain: Buffer | undefined;
  let compressed: Promise<Buffer> | undefined;
  return async ({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    plain ??= Buffer.from(content());
    void reply.type(type).header('Vary', 'Accept-Encoding');
    if (!acceptsCoding(headers['accept-encoding'], 'gzip')) return reply.send(plain);
    compressed ??= compress(plain);
    return reply.header('Content-Encoding', 'gzip').send(await compressed);
  };
}
