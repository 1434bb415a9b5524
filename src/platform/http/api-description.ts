import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest, FastifyInstance } from 'fastify';
import { acceptsCoding, compress } from './compression.js';

const ASSET_CONTENT_TYPES: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

const DOCS_PAGE = `<!doctype html>
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

const START_SCRIPT = `SwaggerUIBundle({ url: '/api/openapi.json', domNode: document.getElementById('api'), deepLinking: true });\n`;

/** The Content-Security-Policy of the page. Allows scripts from this server only; Swagger UI also needs inline styles and data: icons. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

/**
 * Serves the OpenAPI document, and Swagger UI from its package, so that it works without the internet. The document is made at its first
 * request, because describing the routes takes a third of the time of a start.
 */
export function serveApiDescription(server: FastifyInstance, describe: () => OpenAPIObject): void {
  const serve = (path: string, makeContent: () => Buffer | string, type: string): void => {
    server.get(path, staticBody(makeContent, type));
  };
  serve('/api/openapi.json', () => JSON.stringify(describe()), 'application/json; charset=utf-8');
  const sendPage = staticBody(() => DOCS_PAGE, 'text/html; charset=utf-8');
  server.get('/api/docs', (request, reply) => sendPage(request, reply.header('Content-Security-Policy', PAGE_POLICY)));
  serve('/api/docs/start.js', () => START_SCRIPT, 'text/javascript; charset=utf-8');
  const { resolve } = createRequire(import.meta.url);
  for (const [name, type] of Object.entries(ASSET_CONTENT_TYPES)) {
    serve(`/api/docs/${name}`, () => readFileSync(resolve(`swagger-ui-dist/${name}`)), type);
  }
}

/** Makes a handler that sends a body that never changes. The body is made and compressed once. */
function staticBody(makeContent: () => Buffer | string, type: string) {
  let plainBody: Buffer | undefined;
  let compressedBody: Promise<Buffer> | undefined;
  return async ({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    plainBody ??= Buffer.from(makeContent());
    void reply.type(type).header('Vary', 'Accept-Encoding');
    if (!acceptsCoding(headers['accept-encoding'], 'gzip')) return reply.send(plainBody);
    compressedBody ??= compress(plainBody);
    return reply.header('Content-Encoding', 'gzip').send(await compressedBody);
  };
}
