import type { OpenAPIObject } from '@nestjs/swagger';
import { ERRORS } from '../../src/kernel/errors.js';
import { startService, type TestService } from '../support/service.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

describe('the OpenAPI document', () => {
  let service: TestService;
  let document: OpenAPIObject;
  beforeAll(async () => {
    service = await startService();
    document = (await (await fetch(`${service.url}/api/openapi.json`)).json()) as OpenAPIObject;
  });
  afterAll(() => service.stop());

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

  it('speaks of every route that a stranger is kept out of, and of no other', async () => {
    const closed: string[] = [];
    for (const { method, path } of operations()) {
      const answer = await fetch(service.url + path.replaceAll(/\{\w+\}/g, '1'), { method: method.toUpperCase() });
      if (answer.status === 401) closed.push(`${method} ${path}`);
    }
    const described = operations().filter(({ operation }) => operation.security !== undefined);

    expect(closed).toEqual(described.map(({ method, path }) => `${method} ${path}`));
  });

  it('opens to strangers only what must be open', () => {
    const open = operations().filter(({ operation }) => operation.security === undefined);

    expect(open.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'post /api/auth/register',
      'post /api/auth/login',
      'post /api/auth/refresh',
    ]);
  });

  it('says of every route how it succeeds and how it is refused', () => {
    for (const { method, path, operation } of operations()) {
      const statuses = Object.keys(operation.responses);
      expect({ method, path, succeeds: statuses.some((status) => status.startsWith('2')) }).toMatchObject({
        succeeds: true,
      });
      expect(statuses).toContain('503');
      if (path.startsWith('/api/admin/')) expect(statuses).toContain('403');
    }
  });
});
