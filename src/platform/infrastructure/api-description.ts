import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';

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

/** The page runs only what this server serves. Swagger UI sets inline styles and draws its icons from data: URLs. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";

/** The OpenAPI document, and a page that shows it, from a kept package's files: it works without the internet. */
export function serveApiDescription(server: FastifyInstance, document: OpenAPIObject): void {
  const text = JSON.stringify(document);
  server.get('/api/openapi.json', (_, reply) => reply.type('application/json; charset=utf-8').send(text));
  server.get('/api/docs', (_, reply) =>
    reply.header('Content-Security-Policy', PAGE_POLICY).type('text/html; charset=utf-8').send(PAGE),
  );
  server.get('/api/docs/start.js', (_, reply) => reply.type('text/javascript; charset=utf-8').send(START));
  const resolve = createRequire(import.meta.url).resolve;
  for (const [name, type] of Object.entries(ASSETS)) {
    server.get(`/api/docs/${name}`, async (_, reply) =>
      reply.type(type).send(await readFile(resolve(`swagger-ui-dist/${name}`))),
    );
  }
}
