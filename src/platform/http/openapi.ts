import { applyDecorators, HttpCode, type INestApplication, type Type } from '@nestjs/common';
import {
  ApiExtension,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  DocumentBuilder,
  type OpenAPIObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { type ErrorCode, ERRORS } from '../../kernel/errors.js';
import { API_TOKEN } from './access.js';

type Schema = NonNullable<NonNullable<OpenAPIObject['components']>['schemas']>[string];
type Operation = NonNullable<OpenAPIObject['paths'][string]['get']> & { 'x-problems'?: ErrorCode[] };

/**
 * Describes a route: its name in generated clients, its purpose, and its error codes. `describeApi` adds the codes that follow from the
 * route's shape.
 */
export const ApiRoute = (operationId: string, summary: string, ...codes: ErrorCode[]): MethodDecorator =>
  applyDecorators(ApiOperation({ operationId, summary }), ApiExtension('x-problems', codes));

/** Makes a route answer 200 with a body of this type, even to POST, which Nest answers with 201 by default. */
export const Answers = (type: Type): MethodDecorator => applyDecorators(HttpCode(200), ApiOkResponse({ type }));

export const NoContent = (description?: string): MethodDecorator =>
  applyDecorators(HttpCode(204), ApiNoContentResponse(description === undefined ? {} : { description }));

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const requiredHeader = (schema: { type: string; minimum?: number }) => ({ required: true, schema });

/** The headers of problem answers by their status. */
const PROBLEM_HEADERS: Partial<Record<number, Record<string, object>>> = {
  401: { 'WWW-Authenticate': requiredHeader({ type: 'string' }) },
  405: { Allow: requiredHeader({ type: 'string' }) },
  415: { Accept: requiredHeader({ type: 'string' }), 'Accept-Encoding': requiredHeader({ type: 'string' }) },
  429: {
    'Retry-After': requiredHeader({ type: 'integer', minimum: 1 }),
    RateLimit: requiredHeader({ type: 'string' }),
    'RateLimit-Policy': requiredHeader({ type: 'string' }),
  },
};

const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[];

/** Schema of the guarantee in an error with the code `guarantee_broken`. */
const GUARANTEE = { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } };
const WITNESS = { $ref: '#/components/schemas/GuaranteeWitnessResponse' };

const PROBLEM_SCHEMA = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', enum: ['about:blank'] },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: ERROR_CODES },
    errors: {
      type: 'array',
      description: 'The first problems, one entry for each.',
      maxItems: 20,
      items: {
        type: 'object',
        required: ['field', 'message'],
        properties: { field: { type: 'string' }, message: { type: 'string' }, guarantee: GUARANTEE, witness: WITNESS },
      },
    },
    request_id: { type: 'string' },
  },
};

/** The OpenAPI 3.1 document of the routes. Lists every problem that each route can answer. */
export function describeApi(app: INestApplication, version: string, now: Date): OpenAPIObject {
  const options = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Grantline')
    .setDescription(
      'Accounts, grants, and SQL under one’s own name on a Trino engine. Errors are RFC 9457 problem documents.',
    )
    .setVersion(version)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'This service')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'JWT' }, 'access-token')
    .addBearerAuth({ type: 'http', scheme: 'bearer', bearerFormat: 'glt_…' }, API_TOKEN)
    .build();
  const document = SwaggerModule.createDocument(app, options);
  document.tags = Object.entries(TAG_DESCRIPTIONS).map(([name, description]) => ({ name, description }));
  const schemas = ((document.components ??= {}).schemas ??= {});
  schemas['Problem'] = PROBLEM_SCHEMA;
  const usedCodes = new Set<ErrorCode>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const operation: Operation | undefined = item[method];
      if (operation === undefined) continue;
      describeRowIds(operation);
      describeCallers(operation, path);
      for (const code of describeProblems(operation, path, method)) usedCodes.add(code);
    }
  }
  for (const code of ERROR_CODES) if (usedCodes.has(code)) schemas[schemaName(code)] = problemSchema(code);
  describeBodies(schemas, now);
  return document;
}

const TAG_DESCRIPTIONS = {
  auth: 'Register, sign in, refresh, sign out; sessions, passwords and API tokens of one’s own; the identity provider.',
  queries: 'Run SQL on the engine under one’s own name, and read the rows.',
  access: 'Questions: what somebody may do, why, who may do something, and what a draft would change.',
  catalog: 'Names of catalogs, schemas and tables.',
  users: 'Accounts: roles, activation, sessions and API tokens.',
  groups: 'Groups and their members.',
  grants: 'Who may do what. A grant is proved before it is stored, and takes effect with the next publication.',
  policies: 'Row filters, column masks, hidden columns and denies.',
  guarantees: 'Sentences about access that no published version may break.',
  publishing: 'Runs of the sync, published versions, approvals, and what the engine uses.',
  audit: 'The audit trail.',
  console: 'Sessions of the web console, which are cookies.',
};

/** Adds the permitted callers to an operation's description. Programs can read the scopes of API tokens in `x-scopes`. */
function describeCallers(operation: Operation, path: string): void {
  const scopes = operation.security?.flatMap((scheme) => scheme[API_TOKEN] ?? []) ?? [];
  for (const scheme of operation.security ?? []) if (API_TOKEN in scheme) scheme[API_TOKEN] = [];
  if (scopes.length > 0) Object.assign(operation, { 'x-scopes': scopes });
  const callersText =
    operation.security === undefined
      ? 'Needs no sign-in.'
      : path.startsWith('/api/admin/')
        ? 'For administrators.'
        : 'For everybody who is signed in.';
  const scopesText = scopes.length > 0 ? ` API tokens need the scope \`${scopes.join('` or `')}\`.` : '';
  operation.description ??= `${callersText}${scopesText}`;
}

/**
 * Forbids further fields in bodies (docs/decisions/0005), and adds example values to fields by their names. Classes of bodies and of objects
 * in them end in `Dto`.
 */
function describeBodies(schemas: Record<string, Schema>, now: Date): void {
  const expiryExample = new Date(now.getTime() + 30 * 86_400_000);
  const examples = new Map(
    Object.entries({ ...EXAMPLE_VALUES, expires_at: `${expiryExample.toISOString().slice(0, 10)}T00:00:00Z` }),
  );
  for (const [name, schema] of Object.entries(schemas)) {
    if (!name.endsWith('Dto') || '$ref' in schema) continue;
    schema.additionalProperties = false;
    schema.example ??= EXAMPLE_BODIES[name];
    for (const [field, property] of Object.entries(schema.properties ?? {})) {
      if (!('$ref' in property)) property.example ??= examples.get(field);
    }
  }
}

/** Example bodies for classes whose fields cannot all be given together. */
const EXAMPLE_BODIES: Record<string, unknown> = {
  PolicyDto: {
    kind: 'row_filter',
    principal: { type: 'user', id: 1 },
    resource: { catalog: 'sales', schema: 'eu' },
    expression: "region = 'EU'",
  },
  DraftDto: {
    grant: [
      { principal: { type: 'user', id: 1 }, resource: { catalog: 'tpch', schema: 'tiny' }, privileges: ['SELECT'] },
    ],
  },
  GuaranteeDto: {
    name: 'only analysts read tpch',
    kind: 'only',
    principals: [{ type: 'group', id: 1 }],
    resource: { catalog: 'tpch' },
    privileges: ['SELECT'],
  },
  GuaranteeCheckDto: {},
  UserChangeDto: { is_active: true },
  GroupChangeDto: { description: 'reads the orders of the quarter' },
};

const EXAMPLE_VALUES: Record<string, unknown> = {
  username: 'ana',
  email: 'ana@example.org',
  password: 'correct horse battery',
  current_password: 'correct horse battery',
  new_password: 'a longer horse battery',
  name: 'analysts',
  description: 'reads the orders of the quarter',
  engine: 'dashboards',
  principal: { type: 'user', id: 1 },
  resource: { catalog: 'tpch', schema: 'tiny' },
  privileges: ['SELECT'],
  expression: "region = 'EU'",
  reason: 'the new version hides the orders',
  sql: 'SELECT name FROM tpch.tiny.nation',
  catalog: 'tpch',
  schema: 'tiny',
  parameters: [],
  to: '/me',
};

/** Describes numbers in paths as positive integers, because they are ids of rows (RowIdPipe). */
function describeRowIds({ parameters }: Operation): void {
  for (const parameter of parameters ?? []) {
    if (!('in' in parameter) || parameter.in !== 'path' || !parameter.schema || '$ref' in parameter.schema) continue;
    if (parameter.schema.type === 'number') parameter.schema = { type: 'integer', minimum: 1 };
  }
}

function describeProblems(operation: Operation, path: string, method: (typeof METHODS)[number]): Iterable<ErrorCode> {
  const codes = [...(operation['x-problems'] ?? []), ...problemsByShape(operation, path, method)];
  delete operation['x-problems'];
  const answer201 = operation.responses['201'];
  if (answer201 !== undefined && !('$ref' in answer201))
    answer201.headers = { ...answer201.headers, Location: requiredHeader({ type: 'string' }) };
  const codeSets = new Map<number, Set<ErrorCode>>(EARLY_STATUSES.map((status) => [status, new Set(['bad_request'])]));
  for (const code of codes) {
    const { status } = ERRORS[code];
    codeSets.set(status, (codeSets.get(status) ?? new Set()).add(code));
  }
  for (const [status, codeSet] of codeSets) operation.responses[status] = problemResponse(status, [...codeSet]);
  return [...codeSets.values()].flatMap((codeSet) => [...codeSet]);
}

/** Statuses of requests that fail before a route is known: invalid HTTP, too slow, or too many headers. */
const EARLY_STATUSES = [400, 408, 431];

/** Members that problems with these codes have besides the common members. */
const PROBLEM_MEMBERS: Partial<Record<ErrorCode, Record<string, object>>> = {
  mask_conflict: { policy_id: { type: 'integer', description: 'The id of the conflicting policy.' } },
  target_unavailable: {
    reason: { type: 'string' },
    audit_id: { type: ['string', 'null'], description: "The request's id in the audit log of Kubernetes." },
  },
  query_failed: { error: { $ref: '#/components/schemas/QueryError' } },
  query_cancelled: { error: { $ref: '#/components/schemas/QueryError' } },
};

/** The schema's name for a code, such as `BusyProblem`. One schema for each code lets clients distinguish codes by type. */
const schemaName = (code: ErrorCode): string =>
  `${code.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase())}Problem`;

function problemSchema(code: ErrorCode): Schema {
  const properties = { code: { type: 'string', enum: [code] }, ...PROBLEM_MEMBERS[code] };
  return { allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties }] };
}

function problemResponse(status: number, codes: ErrorCode[]): Operation['responses'][string] {
  const oneOf = codes.sort().map((code) => ({ $ref: `#/components/schemas/${schemaName(code)}` }));
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    ...(PROBLEM_HEADERS[status] === undefined ? {} : { headers: PROBLEM_HEADERS[status] }),
    content: { 'application/problem+json': { schema: { oneOf } } },
  };
}

/** The codes that follow from a route's shape: its body, its parameters, authentication, and use of the database. */
function problemsByShape(operation: Operation, path: string, method: (typeof METHODS)[number]): ErrorCode[] {
  const parameters = (operation.parameters ?? []).flatMap((parameter) => ('in' in parameter ? [parameter.in] : []));
  const hasBody = operation.requestBody !== undefined;
  return [
    ...(method === 'get' ? [] : (['malformed_json', 'payload_too_large', 'unsupported_media_type'] as const)),
    ...(hasBody || parameters.length > 0 ? (['validation_failed'] as const) : []),
    ...(operation.security === undefined
      ? []
      : ([
          'token_missing',
          'token_invalid',
          'token_expired',
          'password_change_required',
          'insufficient_scope',
        ] as const)),
    ...(path.startsWith('/api/admin/') ? (['administrator_required'] as const) : []),
    ...(parameters.includes('path') ? (['not_found'] as const) : []),
    'method_not_allowed', // the answer to another method on the same path
    'database_unavailable',
    'internal_error',
  ];
}
