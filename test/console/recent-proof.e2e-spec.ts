import type { OpenAPIObject } from '@nestjs/swagger';
import { administrator } from '../support/service/administrator.js';
import { ApiClient, type Answer, passwordOf, signedUp } from '../support/service/api-client.js';
import { OidcBrowser } from '../support/service/oidc-browser.js';
import { sharedService } from '../support/service/service.js';

const USERS = '/api/admin/users';
const ACL = '/api/admin/acl';
const REQUIRED = [403, 'reauthentication_required'];

/**
 * What changes something with a session, and asks for no recent proof: it takes away, is proved by itself, reads, or is an
 * administrator's everyday work on access, which the audit trail explains and a revoke undoes. A new route has to be entered here,
 * or asks.
 */
const ASKS_NOTHING = [
  // Proved by the password in the body, or a proof itself.
  'patch /api/auth/me',
  'post /api/auth/password',
  'post /api/auth/oidc/link',
  'post /api/auth/oidc/confirm',
  'post /api/auth/console-session/confirm',
  // Takes a session, a token or a way in away.
  'post /api/auth/logout',
  'post /api/auth/logout-all',
  'delete /api/auth/console-session',
  'delete /api/auth/sessions/{id}',
  'delete /api/auth/tokens/{id}',
  'delete /api/auth/oidc/link',
  'delete /api/admin/users/{id}/sessions',
  'delete /api/admin/users/{id}/sessions/{session}',
  'delete /api/admin/users/{id}/tokens/{token}',
  // Nothing in force names it.
  'delete /api/admin/users/{id}/former-names/{name}',
  // Access, as recorded; and its publication, which follows by itself.
  'post /api/admin/groups',
  'patch /api/admin/groups/{id}',
  'delete /api/admin/groups/{id}',
  'put /api/admin/groups/{id}/members/{member}',
  'delete /api/admin/groups/{id}/members/{member}',
  'post /api/admin/grants',
  'post /api/admin/grants/batch',
  'delete /api/admin/grants/{id}',
  'post /api/admin/guarantees',
  'post /api/admin/guarantees/check',
  'post /api/admin/policies',
  'put /api/admin/policies/{id}',
  'delete /api/admin/policies/{id}',
  'post /api/admin/acl/sync',
  // Records nothing of access.
  'post /api/admin/access/preview',
  'post /api/admin/acl/preview',
  'post /api/queries',
  'delete /api/queries/{id}',
];

describe('a recent proof', () => {
  const service = sharedService();
  const anonymous = new ApiClient(service);
  const browser = new OidcBrowser(service);
  const ids = { person: 0, second: 0, promoted: 0, nameless: 0, boss: 0 };
  let boss: ApiClient;

  beforeAll(async () => {
    boss = await administrator(service, 'boss');
    ids.boss = Number((await boss.get('/api/auth/me')).body?.['id']);
    await administrator(service, 'second');
    const { body } = await boss.get(`${USERS}?q=second`);
    [{ id: ids.second }] = body?.['items'] as [{ id: number }];
    ids.person = (await signedUp(anonymous, 'person')).id;
    ids.promoted = (await signedUp(anonymous, 'promoted')).id;
    ids.nameless = Number((await boss.post(USERS, { username: 'misspelt' })).body?.['id']);
    await browser.ask('POST', '/api/auth/console-session', { username: 'boss', password: passwordOf('boss') });
  });

  const outcomeOf = ({ status, body }: Answer): unknown[] => [status, body?.['code'] ?? null];
  const lastEvent = async (): Promise<unknown> => (await browser.ask('GET', '/api/admin/audit?limit=1')).body;
  const confirm = (): Promise<Answer> =>
    browser.ask('POST', '/api/auth/console-session/confirm', { password: passwordOf('boss') });
  const expiry = (): string => new Date(service.clock.now().getTime() + 86_400_000).toISOString();

  /** The one-time password of oneself is asked for below: it ends the session. */
  const ACTS: [string, string, () => string, () => object | undefined, unknown[]][] = [
    ['makes an administrator', 'PATCH', () => `${USERS}/${ids.promoted}`, () => ({ role: 'admin' }), [200, null]],
    ['adds one', 'POST', () => USERS, () => ({ username: 'added', role: 'admin' }), [201, null]],
    ['takes the role away', 'PATCH', () => `${USERS}/${ids.promoted}`, () => ({ role: 'user' }), [200, null]],
    ['shuts one out', 'PATCH', () => `${USERS}/${ids.second}`, () => ({ is_active: false }), [200, null]],
    ['lets one in again', 'PATCH', () => `${USERS}/${ids.second}`, () => ({ is_active: true }), [200, null]],
    ['gives an account to another', 'PATCH', () => `${USERS}/${ids.nameless}`, () => ({ username: 'x' }), [200, null]],
    ['unlinks it for another', 'DELETE', () => `${USERS}/${ids.person}/link`, () => undefined, [404, 'not_found']],
    [
      'adds somebody with a password',
      'POST',
      () => USERS,
      () => ({ username: 'y', one_time_password: true }),
      [201, null],
    ],
    ['opens another account', 'POST', () => `${USERS}/${ids.second}/one-time-password`, () => undefined, [200, null]],
    [
      'makes an API token',
      'POST',
      () => '/api/auth/tokens',
      () => ({ name: 'a program', scopes: ['queries'], expires_at: expiry() }),
      [201, null],
    ],
    [
      'approves a change',
      'POST',
      () => `${ACL}/approvals`,
      () => ({ hash: 'a'.repeat(64) }),
      [409, 'approval_not_awaited'],
    ],
    [
      'restores a version',
      'POST',
      () => `${ACL}/publications/9/restore`,
      () => ({ reason: 'r', hours: 1 }),
      [404, 'not_found'],
    ],
    ['ends a restore', 'DELETE', () => `${ACL}/restore`, () => undefined, [204, null]],
  ];

  it.each(ACTS)('is asked for by what %s', async (_, method, path, body, outcome) => {
    service.clock.advance(301);
    const before = await lastEvent();
    expect(outcomeOf(await browser.ask(method, path(), body()))).toEqual(REQUIRED);
    expect(await lastEvent()).toEqual(before);
    expect((await confirm()).status).toBe(204);
    expect(outcomeOf(await browser.ask(method, path(), body()))).toEqual(outcome);
  });

  it('is asked for by what opens the own account, whose session goes on', async () => {
    service.clock.advance(301);
    expect(outcomeOf(await browser.ask('POST', `${USERS}/${ids.boss}/one-time-password`))).toEqual(REQUIRED);
    expect((await browser.ask('GET', '/api/auth/me')).status).toBe(200);
  });

  it('is not asked for by what takes from people who are no administrators, or gives nobody a way in', async () => {
    service.clock.advance(301);
    for (const [method, path, body, status] of [
      ['PATCH', `${USERS}/${ids.person}`, { is_active: false }, 200],
      ['PATCH', `${USERS}/${ids.person}`, { is_active: true, role: 'user' }, 200],
      ['DELETE', `${USERS}/${ids.second}/sessions`, undefined, 204],
      ['POST', USERS, { username: 'comes_from_the_provider', one_time_password: false }, 201],
    ] as const) {
      expect({ method, path, status: (await browser.ask(method, path, body)).status }).toEqual({
        method,
        path,
        status,
      });
    }
  });

  it('is not asked for of a session with tokens', async () => {
    const second = await administrator(service, 'third');
    service.clock.advance(301);
    const wish = { name: 'a program', scopes: ['admin.write'], expires_at: expiry() };
    expect((await second.post('/api/auth/tokens', wish)).status).toBe(201);
    expect((await second.post(`${USERS}/${ids.person}/one-time-password`)).status).toBe(200);
    expect((await second.patch(`${USERS}/${ids.person}`, { role: 'admin' })).status).toBe(200);
    expect((await second.post(`${ACL}/publications/9/restore`, { reason: 'r', hours: 1 })).status).toBe(404);
  });

  it('is decided of every route that changes something', async () => {
    const { paths } = (await anonymous.get('/api/openapi.json')).body as unknown as OpenAPIObject;
    const silent = Object.entries(paths).flatMap(([path, item]) =>
      (['post', 'put', 'patch', 'delete'] as const)
        .filter((method) => {
          const { security, responses } = item[method] ?? {};
          return security !== undefined && !JSON.stringify(responses).includes('reauthentication_required');
        })
        .map((method) => `${method} ${path}`),
    );
    expect(silent.toSorted()).toEqual(ASKS_NOTHING.toSorted());
  });
});
