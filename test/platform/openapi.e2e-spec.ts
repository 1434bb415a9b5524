import type { OpenAPIObject } from '@nestjs/swagger';
import type { FastifyInstance } from 'fastify';
import { ERRORS } from '../../src/kernel/errors.js';
import { sharedAdministrator } from '../support/service/administrator.js';
import { sharedService } from '../support/service/service.js';

interface Offered {
  example?: object;
  properties?: Record<string, Offered & { enum?: unknown[]; items?: { enum?: unknown[] } }>;
}

/** What Swagger UI offers to send. */
function offered({ example, properties = {} }: Offered): object {
  const fields = Object.entries(properties).map(([name, { example: value, enum: values, items }]) => {
    const first = values?.[0] ?? (items?.enum === undefined ? undefined : [items.enum[0]]);
    return [name, value ?? first] as const;
  });
  return example ?? Object.fromEntries(fields);
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

describe('the OpenAPI document', () => {
  const service = sharedService();
  const admin = sharedAdministrator(service);
  let document: OpenAPIObject;
  beforeAll(async () => {
    document = (await (await fetch(`${service.url}/api/openapi.json`)).json()) as OpenAPIObject;
  });

  const operations = () =>
    Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const operation = item[method];
        return operation === undefined ? [] : [{ method, path, operation }];
      }),
    );

  it('is of version 3.1 and lists every code that a client can meet', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.components?.schemas?.['Problem']).toMatchObject({
      properties: { code: { enum: Object.keys(ERRORS) } },
    });
  });

  it('marks exactly the routes that require a token', async () => {
    const closed: string[] = [];
    for (const { method, path } of operations()) {
      const answer = await fetch(service.url + path.replaceAll(/\{\w+\}/g, '1'), { method: method.toUpperCase() });
      if (answer.status === 401) closed.push(`${method} ${path}`);
    }
    const described = operations().filter(({ operation }) => operation.security !== undefined);

    expect(closed).toEqual(described.map(({ method, path }) => `${method} ${path}`));
  });

  it('has no parameter, in a path or a query, in which a text that PostgreSQL cannot hold is an internal error', async () => {
    const failed: string[] = [];
    for (const { method, path, operation } of operations()) {
      for (const parameter of operation.parameters ?? []) {
        if (!('in' in parameter)) continue;
        const { name, in: where } = parameter;
        const others = path.replaceAll(/\{\w+\}/g, (each) => (each === `{${name}}` ? 'a%00b' : '1'));
        const texts = [
          'a%00b',
          ...['["a\\u0000"]', '["a","a","a\\u0000"]'].map((names) => Buffer.from(names).toString('base64url')),
        ];
        for (const text of where === 'path' ? [others] : texts.map((each) => `${others}?${name}=${each}`)) {
          const { status, body } = await admin.send(method.toUpperCase(), text);
          if (status >= 500 && status !== 503) failed.push(`${method} ${text}`);
          // Whatever else is missing: the text itself is what is wrong.
          const { code, errors = [] } = body as { code?: string; errors?: { field: string }[] };
          const isNamed = code !== 'validation_failed' || errors.some(({ field }) => field === name);
          if (text.endsWith('%00b') && !isNamed) failed.push(`${method} ${text}: ${JSON.stringify(errors)}`);
        }
      }
    }
    expect(failed).toEqual([]);
  });

  it('says of each operation what it does and for whom, in groups that are described', () => {
    const tags = document.tags?.map(({ name }) => name) ?? [];

    expect(operations().filter(({ operation }) => !operation.summary || !operation.description)).toEqual([]);
    expect([...new Set(operations().flatMap(({ operation }) => operation.tags ?? []))].sort()).toEqual(tags.sort());
  });

  it.each([
    '/api/admin/groups',
    '/api/admin/grants',
    '/api/admin/policies',
    '/api/auth/tokens',
    '/api/admin/access/preview',
  ])('offers a body that %s accepts', async (path) => {
    const body = document.paths[path]?.post?.requestBody as { content: Record<string, { schema: object }> };
    const [name = ''] = /\w+$/.exec(JSON.stringify(body.content['application/json']?.schema).slice(0, -2)) ?? [];
    const schema = document.components?.schemas?.[name] as Offered;

    const { status, body: answer } = await admin.send('POST', path, offered(schema));

    expect([answer, [200, 201].includes(status)]).toEqual([answer, true]);
  });

  it('describes the id of a row, in a path, as a positive integer', () => {
    const schemas = new Map(
      operations().flatMap(({ path, operation: { parameters = [] } }) =>
        parameters.flatMap((each) =>
          'in' in each && each.in === 'path' ? [[`${path} ${each.name}`, each.schema] as const] : [],
        ),
      ),
    );

    expect(schemas.get('/api/admin/users/{id} id')).toEqual({ type: 'integer', minimum: 1 });
    expect([...schemas.values()].filter((schema) => schema && 'type' in schema && schema.type === 'number')).toEqual(
      [],
    );
  });

  it('has exactly the routes of the service', () => {
    const server: FastifyInstance = service.app.getHttpAdapter().getInstance();
    const served = routesIn(server.printRoutes({ commonPrefix: false })).filter((route) => route.includes(' /api/'));
    const described = operations().flatMap(({ method, path }) => {
      const route = path.replaceAll(/\{(\w+)\}/g, ':$1');
      return method === 'get' ? [`get ${route}`, `head ${route}`] : [`${method} ${route}`];
    });

    // SCIM describes itself, at /Schemas (RFC 7644 section 4): its clients read no OpenAPI.
    expect(served.filter((route) => !/ \/api\/(openapi\.json|docs|scim\/)/.test(route)).sort()).toEqual(
      described.sort(),
    );
  });

  it('has every path answer every other method with 405 and the ones that it knows', async () => {
    const known = new Map<string, string[]>();
    for (const { method, path } of operations()) known.set(path, [...(known.get(path) ?? []), method.toUpperCase()]);
    for (const [path, methods] of known) {
      const allowed = methods.includes('GET') ? [...methods, 'HEAD'] : methods;
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
        if (allowed.includes(method)) continue;
        const answer = await fetch(service.url + path.replaceAll(/\{\w+\}/g, '1'), { method });
        const answered = { method, path, status: answer.status, allow: answer.headers.get('allow') };
        expect(answered).toEqual({ method, path, status: 405, allow: allowed.sort().join(', ') });
      }
    }
  });

  it('opens to strangers only what must be open', () => {
    const open = operations().filter(({ operation }) => operation.security === undefined);

    expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'post /api/auth/register',
      'post /api/auth/login',
      'post /api/auth/refresh',
      'get /api/auth/oidc',
      'get /api/auth/oidc/start',
      'get /api/auth/oidc/console',
      'get /api/auth/oidc/callback',
      'post /api/auth/oidc/tokens',
      'post /api/auth/oidc/exchange',
      'post /api/auth/oidc/backchannel-logout',
      'get /api/auth/console-session',
      'post /api/auth/console-session',
    ]);
  });

  it('names every operation and says what it does, for generated clients', () => {
    const ids = operations().map(({ operation }) => operation.operationId);

    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => id === undefined || !/^[a-z]+([A-Z][a-z]+)*$/.test(id))).toEqual([]);
    expect(operations().filter(({ operation }) => operation.summary === undefined)).toEqual([]);
  });

  it('leaves no object without its fields, but for the details of an audit event', () => {
    const untyped: string[] = [];
    const visit = (at: string, value: unknown): void => {
      if (typeof value !== 'object' || value === null) return;
      const schema: { type?: unknown; properties?: unknown } = value;
      if ([schema.type].flat().includes('object') && schema.properties === undefined) untyped.push(at);
      for (const [key, inner] of Object.entries(value)) visit(`${at}/${key}`, inner);
    };
    visit('', document);

    expect(untyped).toEqual(['/components/schemas/AuditEventResponse/properties/details']);
  });

  it('has the codes that each operation answers with, by status', () => {
    const codesOf = (path: string, method: (typeof METHODS)[number]): unknown =>
      Object.fromEntries(
        Object.entries(document.paths[path]?.[method]?.responses ?? {})
          .filter(([status]) => !status.startsWith('2'))
          .map(([status, response]) => [status, namesIn(response).map(codeOf)]),
      );
    const namesIn = (response: unknown): string[] => JSON.stringify(response).match(/(?<=schemas\/)\w+/g) ?? [];
    const codeOf = (name: string): string | undefined =>
      /"enum":\["(\w+)"\]/.exec(JSON.stringify(document.components?.schemas?.[name]))?.[1];

    expect(codesOf('/api/admin/groups/{id}', 'delete')).toEqual({
      400: ['bad_request', 'malformed_json', 'validation_failed'],
      401: ['token_expired', 'token_invalid', 'token_missing'],
      403: ['administrator_required', 'insufficient_scope', 'password_change_required'],
      404: ['not_found'],
      405: ['method_not_allowed'],
      408: ['bad_request'],
      409: ['group_in_use', 'managed_elsewhere'],
      413: ['payload_too_large'],
      415: ['unsupported_media_type'],
      431: ['bad_request'],
      500: ['internal_error'],
      503: ['busy', 'database_unavailable'],
    });
    expect(codesOf('/api/queries/{id}/rows', 'get')).toMatchObject({
      409: ['query_cancelled', 'query_failed'],
      429: ['too_many_unread_rows'],
    });
  });

  it('has the success and the problems of every route', () => {
    for (const { method, path, operation } of operations()) {
      const statuses = Object.keys(operation.responses);
      expect({ method, path, succeeds: statuses.some((status) => /^[23]/.test(status)) }).toMatchObject({
        succeeds: true,
      });
      expect(statuses).toContain('503');
      if (path.startsWith('/api/admin/')) expect(statuses).toContain('403');
    }
  });
});

/** `method path` of every route in Fastify's drawing of them: a tree, each branch four characters further in. */
function routesIn(drawing: string): string[] {
  const above: string[] = [];
  return drawing.split('\n').flatMap((line) => {
    const [, indent = '', piece = '', methods = ''] = /^(.*?)[├└]── (\S+)(?: \(([A-Z, ]+)\))?/.exec(line) ?? [];
    const path = above.slice(0, indent.length / 4).join('') + piece;
    above.splice(indent.length / 4, Infinity, piece);
    return methods === '' ? [] : methods.split(', ').map((method) => `${method.toLowerCase()} ${path}`);
  });
}
