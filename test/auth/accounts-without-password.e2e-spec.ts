import { AccessChangesService } from '../../src/users/access-changes.service.js';
import { administrator, people } from '../support/service/administrator.js';
import { ApiClient, passwordOf, signedUp, signIn } from '../support/service/api-client.js';
import { startService, type TestService } from '../support/service/service.js';

describe('accounts without a password', () => {
  let service: TestService;
  let anonymous: ApiClient;
  let boss: ApiClient;
  beforeAll(async () => {
    service = await startService({ ACL_SERVICE_ACCOUNTS: 'nightly' });
    anonymous = new ApiClient(service.url);
    boss = await administrator(service, 'boss');
  });
  afterAll(() => service.stop());

  const make = (username: string, more: object = {}) => boss.post('/api/admin/users', { username, ...more });
  const made = async (username: string, more: object = {}): Promise<string> => {
    const { status, body } = await make(username, more);
    expect([username, status]).toEqual([username, 201]);
    return `/api/admin/users/${String(body?.['id'])}`;
  };
  const login = (username: string, password: string) => anonymous.post('/api/auth/login', { username, password });
  const codeOf = ({ status, body }: Awaited<ReturnType<ApiClient['get']>>) => [status, body?.['code'] ?? null];

  it('are made by administrators, with names as the engine has them, and without an e-mail address', async () => {
    const answer = await make('Ana Müller@example.org');
    expect(answer.status).toBe(201);
    expect(answer.headers.get('location')).toBe(`/api/admin/users/${String(answer.body?.['id'])}`);
    expect(answer.body).toEqual({
      ...{ id: answer.body?.['id'], username: 'Ana Müller@example.org', email: null, role: 'user', is_active: true },
      ...{ created_at: answer.body?.['created_at'], source: 'local', has_password: false },
      ...{ one_time_password: null, one_time_password_expires_at: null, warnings: [] },
    });
    await signedUp(anonymous, 'registered');
    const listed = async (query: string) => {
      const { body } = await boss.get(`/api/admin/users?${query}`);
      return (body?.['items'] as { username: string }[]).map(({ username }) => username);
    };
    expect(await listed('source=local&q=m%C3%BCller')).toEqual(['Ana Müller@example.org']);
    expect(await listed('source=import')).toEqual([]);
    expect((await boss.get('/api/admin/users?source=elsewhere')).status).toBe(400);
    expect((await anonymous.post('/api/admin/users', { username: 'nobody' })).status).toBe(401);
  });

  it('say of a name that no header carries that no SQL is run as it', async () => {
    const warnings = [expect.stringMatching(/^No SQL can be run as 山田太郎: .*Latin-1/)];
    const id = await made('yamada');
    expect((await make('山田太郎')).body).toMatchObject({ warnings });
    expect((await boss.get('/api/admin/users?q=山田')).body).toMatchObject({ items: [{ warnings }] });
    expect((await boss.patch(id, { username: 'zoé.dupont' })).body).toMatchObject({ warnings: [] });
    expect((await boss.patch(id, { username: 'Łukasz' })).body?.['warnings']).toHaveLength(1);
  });

  it('do not sign in: the answer and the work are those of a wrong password', async () => {
    await made('pat', { email: 'pat@example.org' });
    await signedUp(anonymous, 'quentin');
    const hashes = async () =>
      Number(/^grantline_password_hash_wait_seconds_count (\d+)$/m.exec(await service.metrics())?.[1]);
    const attempt = async (name: string) => {
      const before = await hashes();
      const { status, body } = await login(name, 'a wrong password');
      return { status, body: { ...body, request_id: '' }, hashes: (await hashes()) - before };
    };
    const wrong = await attempt('quentin');
    expect(wrong).toMatchObject({ status: 401, hashes: 1 });
    expect(await attempt('pat')).toEqual(wrong);
    const id = await made('deactivated one');
    await boss.patch(id, { is_active: false });
    expect(await attempt('deactivated one')).toEqual(wrong);
  });

  it('have no address that another account has, which is no reason to refuse', async () => {
    await made('with address', { email: 'One@example.org' });
    const { status, body } = await make('second', { email: 'one@Example.org' });
    expect([status, body?.['email']]).toEqual([201, null]);
    expect(body?.['warnings']).toEqual(['Another account has the e-mail address: it is not stored.']);
    expect(codeOf(await make('third', { email: 'no address' }))).toEqual([400, 'validation_failed']);
  });

  it('share no name with anybody, in any case of its letters', async () => {
    await people(service, 'taken');
    await made('Ünal');
    const grant = {
      resource: { catalog: 'sales' },
      privileges: ['SELECT'],
      principal: { type: 'engine', name: 'Etl' },
    };
    expect((await boss.post('/api/admin/grants', grant)).status).toBe(201);
    for (const [name, detail] of [
      ['taken', 'taken is the name of an account.'],
      ['TAKEN', 'TAKEN is the name of an account, which is spelled taken.'],
      ['ünal', 'ünal is the name of an account, which is spelled Ünal.'],
      ['etl', 'etl is the name of an engine principal, which is spelled Etl.'],
      ['Nightly', 'Nightly is the name of a service account, which is spelled nightly.'],
    ] as const) {
      const { status, body } = await make(name);
      expect([status, body?.['code'], body?.['detail']]).toEqual([409, 'username_taken', detail]);
    }
    const claim = { ...grant, principal: { type: 'engine', name: 'Ünal' } };
    expect(codeOf(await boss.post('/api/admin/grants', claim))).toEqual([409, 'name_taken']);
    for (const name of ['', ' ana', 'Mu\u0308ller', 'a\u200bb', 'service-account-x', 'x'.repeat(129), 7, null]) {
      expect([name, ...codeOf(await boss.post('/api/admin/users', { username: name }))]).toEqual([
        name,
        400,
        'validation_failed',
      ]);
    }
  });

  it('get a password by a one-time password, which is answered once', async () => {
    const { body } = await make('carla b', { one_time_password: true, role: 'admin' });
    const password = String(body?.['one_time_password']);
    expect(body).toMatchObject({ has_password: true, role: 'admin' });
    const { body: again } = await boss.get(`/api/admin/users/${String(body?.['id'])}`);
    expect(again).not.toHaveProperty('one_time_password');
    const me = anonymous.as((await signIn(anonymous, 'carla b', password)).access_token);
    expect((await me.get('/api/auth/me')).body).toMatchObject({ username: 'carla b', email: '' });
    expect(codeOf(await me.get('/api/admin/users'))).toEqual([403, 'password_change_required']);
    const change = { current_password: password, new_password: passwordOf('carla b') };
    expect((await me.post('/api/auth/password', change)).status).toBe(204);
    expect((await me.get('/api/admin/users')).status).toBe(200);

    const accented = await make('Chloé.Blanc', { one_time_password: true });
    for (const name of ['CHLOÉ.BLANC', 'chloe\u0301.blanc']) {
      await signIn(anonymous, name, String(accented.body?.['one_time_password']));
    }

    const later = await made('dario b');
    const set = await boss.post(`${later}/one-time-password`);
    await signIn(anonymous, 'dario b', String(set.body?.['one_time_password']));
    expect((await boss.get(later)).body).toMatchObject({ has_password: true });
    expect(codeOf(await boss.patch(later, { username: 'dario c' }))).toEqual([409, 'account_has_password']);
  });

  it('are renamed: grants follow the account, and the former name holds nothing', async () => {
    const account = await made('erin');
    const id = Number(account.split('/').at(-1));
    const grant = { resource: { catalog: 'sales' }, privileges: ['SELECT'], principal: { type: 'user', id } };
    await boss.post('/api/admin/grants', grant);
    let notifications = 0;
    const unsubscribe = service.app.get(AccessChangesService).subscribe(() => notifications++);
    expect((await boss.patch(account, { username: 'erin.test' })).body).toMatchObject({ id, username: 'erin.test' });
    unsubscribe();
    expect(notifications).toBe(1);

    const { body } = await boss.get(`/api/admin/grants?principal=user:${id}`);
    expect((body?.['items'] as object[])[0]).toMatchObject({ principal: { name: 'erin.test' } });
    const { body: taken } = await make('Erin');
    expect(taken).toMatchObject({
      code: 'username_taken',
      detail: `Erin was the name of account ${id}, which is spelled erin: an administrator can free it there.`,
    });
    expect(
      codeOf(
        await anonymous.post('/api/auth/register', {
          ...{ username: 'erin', email: 'erin@example.org', password: passwordOf('erin') },
        }),
      ),
    ).toEqual([409, 'username_taken']);

    for (const name of ['Erin.Test', 'ERIN', 'erin', 'Ärin', 'ärin', 'erin.test']) {
      const { status, body: renamed } = await boss.patch(account, { username: name });
      expect([status, renamed?.['username']]).toEqual([200, name]);
    }
    const other = await made('other');
    for (const name of ['erin', 'ÄRIN', 'boss', 'nightly']) {
      expect(codeOf(await boss.patch(other, { username: name }))).toEqual([409, 'username_taken']);
    }
    expect(codeOf(await boss.patch(other, { username: ' blank' }))).toEqual([400, 'validation_failed']);
    const { body: trail } = await boss.get(`/api/admin/audit?user=${id}&event=account_renamed&limit=1`);
    expect((trail?.['items'] as object[])[0]).toMatchObject({ details: { from: 'ärin', to: 'erin.test' } });
  });

  it('leave a former name to nobody until an administrator frees it, which nothing that is in force names', async () => {
    const account = await made("o'neil");
    const grant = { principal: { type: 'user', id: Number(account.split('/').at(-1)) }, privileges: ['SELECT'] };
    await boss.post('/api/admin/grants', { ...grant, resource: { catalog: 'freed' } });
    const policy = await boss.post('/api/admin/policies', {
      ...{
        kind: 'row_filter',
        principal: { type: 'everyone' },
        resource: { catalog: 'freed', schema: 's', table: 't' },
      },
      expression: "lower(current_user) <> 'O''Neil'",
    });
    const publish = async () =>
      expect((await boss.post('/api/admin/acl/sync')).body).toMatchObject({ outcome: 'applied' });
    const free = (name = "o'neil", of = account) => boss.delete(`${of}/former-names/${encodeURIComponent(name)}`);
    await publish();
    expect(codeOf(await free())).toEqual([404, 'not_found']);
    await boss.patch(account, { username: 'o.neil' });
    expect((await boss.get(account)).body).toMatchObject({ former_names: ["o'neil"] });

    const { body: live } = await free();
    expect(live).toMatchObject({
      code: 'name_in_use',
      detail: expect.stringMatching(/^Version \d+, which is published/) as string,
    });
    await publish();
    expect((await free()).body).toMatchObject({
      detail: expect.stringMatching(/^Policy \d+ \(row_filter\)/) as string,
    });
    await boss.delete(`/api/admin/policies/${String(policy.body?.['id'])}`);
    await publish();
    for (const [name, of] of [["O'Neil"], ['o.neil'], ['\0'], ["o'neil", await made('nobody yet')]] as const)
      expect(codeOf(await free(name, of))).toEqual([404, 'not_found']);
    expect(codeOf(await make("O'Neil"))).toEqual([409, 'username_taken']);
    expect((await free()).status).toBe(204);
    expect((await boss.get(account)).body).toMatchObject({ username: 'o.neil', former_names: [] });

    const next = await made("O'Neil");
    const reached = async (of: string) =>
      (await boss.get(`/api/admin/access/effective?principal=user:${of.split('/').at(-1)}`)).body?.['items'];
    expect([await reached(next), await reached(account)]).toEqual([[], [expect.anything()]]);
    const { body: trail } = await boss.get('/api/admin/audit?event=name_freed');
    expect(trail?.['items']).toMatchObject([
      { subject: { id: account.split('/').at(-1) }, details: { name: "o'neil" } },
    ]);
  });

  it('are no last administrators: one with a password stays', async () => {
    const { body } = await boss.get('/api/admin/users?role=admin');
    for (const { id, username } of body?.['items'] as { id: number; username: string }[]) {
      if (username !== 'boss') await boss.patch(`/api/admin/users/${id}`, { role: 'user' });
    }
    const passwordless = await made('another administrator', { role: 'admin' });
    const own = `/api/admin/users/${String((await boss.get('/api/auth/me')).body?.['id'])}`;
    expect(codeOf(await boss.patch(own, { role: 'user' }))).toEqual([409, 'last_administrator']);
    expect((await boss.patch(passwordless, { role: 'user' })).status).toBe(200);
  });
});
