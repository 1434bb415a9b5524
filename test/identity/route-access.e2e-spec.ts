import { readFileSync } from 'node:fs';
import type { OpenAPIObject } from '@nestjs/swagger';
import { TOKEN_SCOPES, type TokenScope } from '../../src/kernel/token-scope.js';
import { administrator } from '../support/service/administrator.js';
import { apiToken } from '../support/service/api-tokens.js';
import { ApiClient, signedUp, signIn } from '../support/service/api-client.js';
import { SCIM_TOKEN } from '../support/service/scim-client.js';
import { sharedService } from '../support/service/service.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

/** Of SCIM, which the OpenAPI document leaves out. */
const DISCOVERY = ['ServiceProviderConfig', 'Schemas', 'ResourceTypes'].map((path) => `get ${path}`);
const ON_ONE = ['get', 'put', 'patch', 'delete'];

/** What refuses whom, in a word of the table; everything else has opened the route. */
const WORDS: Partial<Record<string, string>> = {
  token_missing: '401',
  token_invalid: '401',
  insufficient_scope: 'scope',
  administrator_required: 'role',
};

/**
 * Who may do what: every route, asked by everybody. A new route has to be entered in route-access.txt, in the words that this
 * spec finds for it.
 */
describe('every route', () => {
  const service = sharedService({ SCIM_TOKEN });
  const anonymous = new ApiClient(service);
  const person = new ApiClient(service);
  const boss = new ApiClient(service);
  let callers: [string, ApiClient][];
  let described: { method: string; path: string; scopes: TokenScope[] }[];
  beforeAll(async () => {
    await administrator(service, 'boss');
    await signedUp(anonymous, 'person');
    await signInAgain();
    const by = async (client: ApiClient, ...scopes: TokenScope[]) =>
      anonymous.as((await apiToken(client, service.clock.now(), ...scopes)).token);
    callers = [
      ['nobody', anonymous],
      ['person', person],
      ["person's token", await by(person, 'queries', 'access.read')],
      ['administrator', boss],
    ];
    for (const scope of TOKEN_SCOPES) callers.push([scope, await by(boss, scope)]);
    callers.push(['SCIM', anonymous.as(SCIM_TOKEN)]);
    const document = (await anonymous.get('/api/openapi.json')).body as unknown as OpenAPIObject;
    described = Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.flatMap((method) => {
        const scopes = (item[method] as { 'x-scopes'?: string[] } | undefined)?.['x-scopes'] ?? [];
        return item[method] === undefined ? [] : [{ method, path, scopes: scopes as TokenScope[] }];
      }),
    );
    const resource = (name: string) => [
      `get ${name}`,
      `post ${name}`,
      ...ON_ONE.map((method) => `${method} ${name}/{id}`),
    ];
    for (const route of [...DISCOVERY, ...resource('Users'), ...resource('Groups')]) {
      const [method = '', path = ''] = route.split(' ');
      described.push({ method, path: `/api/scim/v2/${path}`, scopes: [] });
    }
  });

  const signInAgain = async (): Promise<void> => {
    Object.assign(person, anonymous.as((await signIn(anonymous, 'person')).access_token));
    Object.assign(boss, anonymous.as((await signIn(anonymous, 'boss')).access_token));
  };

  /** No body is JSON, and no id is there, so that what is open changes nothing but sessions. */
  const found = async (client: ApiClient, method: string, path: string): Promise<string> => {
    const body = method === 'get' ? undefined : '{';
    const { status, body: answer } = await client.send(
      method.toUpperCase(),
      path.replaceAll(/\{\w+\}/g, '17000'),
      body,
    );
    return WORDS[String(answer?.['code'])] ?? (status === 401 ? '401' : 'open');
  };

  it('is open to whom the table says, and to tokens as its description says: by default to none', async () => {
    const table = [['route', ...callers.map(([name]) => name)]];
    for (const { method, path, scopes } of described) {
      const answers = await Promise.all(callers.map(([, client]) => found(client, method, path)));
      if (path.startsWith('/api/auth/logout')) await signInAgain();
      table.push([`${method} ${path}`, ...answers]);
      const opened = TOKEN_SCOPES.filter((scope) => answers[callers.findIndex(([name]) => name === scope)] === 'open');
      const isPublic = answers[0] === 'open';
      expect({ method, path, opened }).toEqual({ method, path, opened: isPublic ? TOKEN_SCOPES : scopes });
    }
    const widths = (table[0] ?? []).map((_, at) => Math.max(...table.map((row) => row[at]?.length ?? 0)));
    const lines = table.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
    const text = lines.map((line) => `${line.trimEnd()}\n`).join('');

    expect(text).toBe(readFileSync(new URL('route-access.txt', import.meta.url), 'utf8'));
  });
});
