import type { OpenAPIObject } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { RegistrationService } from '../../src/auth/registration.service.js';
import { apiToken } from '../support/service/api-tokens.js';
import { TOKEN_SCOPES, type TokenScope } from '../../src/kernel/token-scope.js';
import { sharedService } from '../support/service/service.js';
import { ApiClient, passwordOf, signedUp, signIn, type Tokens } from '../support/service/api-client.js';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
const QUERY = '7d1f2ad0-1111-4222-8333-944445555666';

describe('the data of one user', () => {
  const service = sharedService();
  const anonymous = new ApiClient(service);
  let owner: ApiClient;
  let others: [string, ApiClient][];
  let session: string;
  let token: { id: string; token: string };
  let routes: { method: string; path: string }[];
  beforeAll(async () => {
    const tokens = await signedUp(anonymous, 'the_owner');
    owner = anonymous.as(tokens.access_token);
    session = sessionOf(tokens);
    token = await apiToken(owner, service.clock.now(), 'queries');
    await service.app.get(DataSource).query(
      `INSERT INTO queries (id, user_id, run_as, state, sql, trace_token, created_at, finished_at, deadline_at)
       VALUES ($1, $2, 'the_owner', 'finished', 'SELECT the_owners_secret', 't', now(), now(), now())`,
      [QUERY, tokens.id],
    );
    await service.app
      .get(RegistrationService)
      .createAdministrator({ username: 'boss', email: 'boss@example.org', password: passwordOf('boss') });
    const second = anonymous.as((await signedUp(anonymous, 'somebody_else')).access_token);
    const boss = anonymous.as((await signIn(anonymous, 'boss')).access_token);
    const tokenOf = async (client: ApiClient, ...scopes: TokenScope[]) =>
      anonymous.as((await apiToken(client, service.clock.now(), ...scopes)).token);
    others = [
      ['a second person', second],
      ['an administrator', boss],
      ["a second person's token", await tokenOf(second, 'queries', 'access.read')],
      ["an administrator's token", await tokenOf(boss, ...TOKEN_SCOPES)],
    ];
    const document = (await anonymous.get('/api/openapi.json')).body as unknown as OpenAPIObject;
    routes = Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => item[method] !== undefined).map((method) => ({ method, path })),
    );
  });

  /** The owner's object for a path. A new path with an id needs an entry here. */
  const ownedPath = (path: string): string => {
    const [, collection] = /^\/api\/(auth\/sessions|auth\/tokens|queries)\/\{id\}/.exec(path) ?? [];
    if (collection === undefined) throw new Error(`what does the owner have at ${path}?`);
    const ids: Record<string, string> = { queries: QUERY, 'auth/sessions': session, 'auth/tokens': token.id };
    return path.replace('{id}', ids[collection] ?? '');
  };
  const answers = async (client: ApiClient, chosen: (path: string) => boolean): Promise<string[]> => {
    const lines: string[] = [];
    for (const { method, path } of routes.filter((route) => chosen(route.path))) {
      const answer = await client.send(method.toUpperCase(), ownedPath(path));
      lines.push(`${method} ${path} ${answer.status}`);
    }
    return lines;
  };
  const isOwned = (path: string): boolean => path.includes('{') && !path.startsWith('/api/admin/');

  /** Sessions and tokens are closed to API tokens, whoever's they are. */
  const isHidden = (line: string): boolean =>
    line.endsWith(' 404') || (line.includes('/api/auth/') && line.endsWith(' 403'));

  it('is shown to its owner, however many others ask at once with tokens of all kinds', async () => {
    const dead = anonymous.as((await signIn(anonymous, 'somebody_else')).access_token);
    await dead.post('/api/auth/logout');
    const asking = Array.from({ length: 20 }, () => [owner, dead, ...others.map(([, client]) => client)]).flat();

    const seen = await Promise.all(asking.map(async (client) => (await client.get('/api/auth/me')).body?.['username']));

    const once = ['the_owner', undefined, 'somebody_else', 'boss', 'somebody_else', 'boss'];
    expect(seen).toEqual(Array.from({ length: 20 }, () => once).flat());
  });

  it('does not exist for other users, administrators included', async () => {
    for (const [name, client] of others) {
      const found = await answers(client, isOwned);
      expect(found.length).toBeGreaterThan(2);
      expect({ name, found: found.filter((line) => !isHidden(line)) }).toEqual({ name, found: [] });
    }
    expect((await answers(anonymous, isOwned)).filter((line) => !line.endsWith(' 401'))).toEqual([]);
  });

  it('is in no other user’s lists', async () => {
    const lists = routes.filter(
      ({ method, path }) => method === 'get' && !path.includes('{') && !path.startsWith('/api/admin/'),
    );
    for (const [, client] of others) {
      for (const { path } of lists) {
        const text = JSON.stringify((await client.get(path)).body);
        for (const secret of ['the_owner', session, QUERY, token.id]) expect(text).not.toContain(secret);
      }
    }
  });

  it('is there for its owner', async () => {
    expect((await owner.get(`/api/queries/${QUERY}`)).status).toBe(200);
    expect(JSON.stringify((await owner.get('/api/queries')).body)).toContain(QUERY);
    expect(JSON.stringify((await anonymous.as(token.token).get('/api/queries')).body)).toContain(QUERY);
    expect(JSON.stringify((await owner.get('/api/auth/tokens')).body)).toContain(token.id);
    expect((await owner.delete(`/api/auth/tokens/${token.id}`)).status).toBe(204);
    expect(JSON.stringify((await owner.get('/api/auth/sessions')).body)).toContain(session);
    expect((await owner.delete(`/api/auth/sessions/${session}`)).status).toBe(204);
  });

  it('administration is closed to the second user, whatever it concerns', async () => {
    const [, second] = others[0] ?? ['', anonymous];
    const admin = routes.filter(({ path }) => path.startsWith('/api/admin/'));
    expect(admin.length).toBeGreaterThan(10);
    for (const { method, path } of admin) {
      const answer = await second.send(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, '1'));
      expect({ method, path, status: answer.status, code: answer.body?.['code'] }).toEqual({
        method,
        path,
        status: 403,
        code: 'administrator_required',
      });
    }
  });
});

function sessionOf({ access_token }: Tokens): string {
  const payload = Buffer.from(access_token.split('.')[1] ?? '', 'base64url').toString();
  return (JSON.parse(payload) as { sid: string }).sid;
}
