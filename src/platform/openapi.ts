import type { INestApplication } from '@nestjs/common';
import { ApiExtension, DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { type ErrorCode, ERRORS } from '../kernel/errors.js';
import { STATUS } from './problem.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & { 'x-problems'?: ErrorCode[] };

/** Names the error codes of a route that do not follow from its shape; `describeApi` adds those that do. */
export const ApiProblems = (...codes: ErrorCode[]): MethodDecorator => ApiExtension('x-problems', codes);

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const always = (schema: { type: string; minimum?: number }) => ({ required: true, schema });

/** The headers of every problem of that status. */
const HEADERS: Partial<Record<number, Record<string, object>>> = {
  401: { 'WWW-Authenticate': always({ type: 'string' }) },
  415: { Accept: always({ type: 'string' }), 'Accept-Encoding': always({ type: 'string' }) },
  429: {
    'Retry-After': always({ type: 'integer', minimum: 1 }),
    RateLimit: always({ type: 'string' }),
    'RateLimit-Policy': always({ type: 'string' }),
  },
};

const PROBLEM = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', enum: ['about:blank'] },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: Object.keys(ERRORS) },
    errors: {
      type: 'array',
      description: 'The first problems, one entry for each.',
      maxItems: 20,
      items: {
        type: 'object',
        required: ['field', 'message'],
        properties: { field: { type: 'string' }, message: { type: 'string' } },
      },
    },
    request_id: { type: 'string' },
  },
};

/** The OpenAPI 3.1 document of the routes, with every problem that each of them can answer. */
export function describeApi(app: INestApplication, version: string): OpenAPIObject {
  const options = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Grantline')
    .setDescription(
      'Accounts, grants, and SQL under one’s own name on a Trino engine. Errors are RFC 9457 problem documents.',
    )
    .setVersion(version)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'access-token')
    .build();
  const document = SwaggerModule.createDocument(app, options);
  const schemas = ((document.components ??= {}).schemas ??= {});
  schemas['Problem'] = PROBLEM;
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation: Operation | undefined = item[method];
      if (operation === undefined) continue;
      describeRowIds(operation);
      describeProblems(operation, path, method);
    }
  }
  closeBodies(schemas);
  return document;
}

/** Bodies have no further fields (docs/decisions/0005); their classes, and those of nested objects, end in `Dto`. */
function closeBodies(schemas: NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>): void {
  for (const [name, schema] of Object.entries(schemas)) {
    if (name.endsWith('Dto') && !('$ref' in schema)) schema.additionalProperties = false;
  }
}

/** Numbers in paths are ids of rows (RowIdPipe). */
function describeRowIds({ parameters }: Operation): void {
  for (const parameter of parameters ?? []) {
    if (!('in' in parameter) || parameter.in !== 'path' || !parameter.schema || '$ref' in parameter.schema) continue;
    if (parameter.schema.type === 'number') parameter.schema = { type: 'integer', minimum: 1 };
  }
}

function describeProblems(operation: Operation, path: string, method: (typeof METHODS)[number]): void {
  const codes = new Set<ErrorCode>([...(operation['x-problems'] ?? []), ...problemsByShape(operation, path, method)]);
  delete operation['x-problems'];
  const created = operation.responses['201'];
  if (created !== undefined && !('$ref' in created)) created.headers = { Location: always({ type: 'string' }) };
  for (const code of codes) {
    const status = STATUS[ERRORS[code].kind];
    const known = operation.responses[status];
    const description =
      known !== undefined && 'description' in known ? `${known.description}, \`${code}\`` : `\`${code}\``;
    operation.responses[status] = {
      description,
      ...(HEADERS[status] === undefined ? {} : { headers: HEADERS[status] }),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    };
  }
}

/** The codes of every route of that shape: of bodies, of parameters, of authentication, of an absent database. */
function problemsByShape(operation: Operation, path: string, method: (typeof METHODS)[number]): ErrorCode[] {
  const parameters = (operation.parameters ?? []).flatMap((parameter) => ('in' in parameter ? [parameter.in] : []));
  const takesBody = operation.requestBody !== undefined;
  return [
    ...(method === 'get' ? [] : (['malformed_json', 'payload_too_large', 'unsupported_media_type'] as const)),
    ...(takesBody || parameters.length > 0 ? (['validation_failed'] as const) : []),
    ...(operation.security === undefined
      ? []
      : (['token_missing', 'token_invalid', 'token_expired', 'password_change_required'] as const)),
    ...(path.startsWith('/api/admin/') ? (['administrator_required'] as const) : []),
    ...(parameters.includes('path') ? (['not_found'] as const) : []),
    'database_unavailable',
  ];
}
