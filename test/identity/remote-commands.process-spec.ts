import { existsSync } from 'node:fs';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { people, sharedAdministrator } from '../support/service/administrator.js';
import { apiToken } from '../support/service/api-tokens.js';
import { runGrantline } from '../support/service/grantline-process.js';
import { sharedService } from '../support/service/service.js';
import { sharedFolder } from '../support/service/shared-folder.js';

const FILE = {
  version: 1,
  users: [{ name: 'ana' }],
  groups: [{ name: 'readers', members: ['ana'] }],
  grants: [
    { principal: { type: 'group', name: 'readers' }, resource: { catalog: 'sales' }, privileges: ['SELECT'] },
    { principal: { type: 'engine', name: 'etl' }, resource: { engine: true }, privileges: ['VIEW_QUERIES'] },
  ],
  policies: [],
};

describe('the command line at a distance', () => {
  const folder = sharedFolder('remote-commands-');
  const service = sharedService({ ACL_FILE_DIRECTORY: join(folder, 'acl') });
  const boss = sharedAdministrator(service);
  const file = join(folder, 'grants.json');
  let reading: string;
  let writing: string;
  beforeAll(async () => {
    await people(service, 'ana', 'anabel');
    [{ token: reading }, { token: writing }] = [
      await apiToken(boss, service.clock.now(), 'admin.read'),
      await apiToken(boss, service.clock.now(), 'admin.write'),
    ];
    await writeFile(file, JSON.stringify(FILE));
    await writeFile(join(folder, 'token'), `${reading}\n`);
    await chmod(join(folder, 'token'), 0o600);
  });
  afterAll(() => {
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  /** No setting but those of the client. */
  const run = (args: string[], environment: Record<string, string>) =>
    runGrantline(args, { GRANTLINE_URL: service.url, DATA_DIR: join(folder, 'data'), ...environment });
  const read = (...args: string[]) => run(args, { GRANTLINE_TOKEN_FILE: join(folder, 'token') });
  const write = (...args: string[]) => run(args, { GRANTLINE_TOKEN: writing });

  it('applies a snapshot file, publishes it, and exports it', async () => {
    // Progress may follow.
    const said = expect.stringMatching(`^service: ${service.url}\n`) as string;
    const planned = await write('snapshot', 'apply', file, '--dry-run');
    expect(planned).toEqual({
      code: 1,
      stderr: said,
      stdout: expect.stringContaining('would apply: 4 changes') as string,
    });
    expect(await write('snapshot', 'apply', file)).toMatchObject({
      ...{ code: 0, stdout: expect.stringMatching(/readers.*\n[^]*applied: 4 changes\n$/) as string },
    });
    expect(await write('snapshot', 'apply', file, '--json')).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('"outcome":"no_change","plan":[]') as string },
    });

    const preview = await read('acl', 'sync', '--dry-run');
    expect(preview).toMatchObject({ code: 0, stdout: expect.stringContaining('would publish: ') as string });
    expect(preview.stdout).toContain('+ tables {"user":"ana","catalog":"sales"');
    expect(await write('acl', 'sync')).toEqual({
      ...{ code: 0, stderr: said, stdout: expect.stringMatching(/^TRINO_ACL_SYNC_APPLIED {2}version 1 /) as string },
    });
    expect(JSON.parse((await write('acl', 'sync', '--json')).stdout)).toMatchObject({
      ...{ outcome: 'no_change', publication: { version: 1 }, awaits: null, reasons: [] },
    });

    const out = join(folder, 'exported.yaml');
    expect(await read('snapshot', 'export', '--out', out)).toEqual({ code: 0, stderr: said, stdout: '' });
    expect(await readFile(out, 'utf8')).toContain('name: readers');
    expect((await stat(out)).mode & 0o777).toBe(0o640);
    expect(await run(['snapshot', 'export', '--token-file', join(folder, 'token')], {})).toMatchObject({ code: 0 });
    expect(JSON.parse((await read('snapshot', 'export')).stdout)).toMatchObject({ groups: FILE.groups });
  });

  it('shows the status, and explains', async () => {
    const status = await read('acl', 'status');
    expect(status).toMatchObject({ code: 0, stdout: expect.stringMatching(/^published +version 1 /m) as string });
    expect(status.stdout).toMatch(/^version 1 +[0-9a-f]{6}, /m);
    expect(JSON.parse((await read('acl', 'status', '--json')).stdout)).toMatchObject({ published: { version: 1 } });

    const about = ['--catalog', 'sales', '--schema', 'eu', '--privilege', 'select'];
    const may = await read('acl', 'explain', '--user', 'Ana', ...about);
    expect(may).toMatchObject({ code: 0, stdout: expect.stringContaining('Ana may SELECT from sales.eu') as string });
    expect((await read('acl', 'explain', '--user', 'anabel', ...about)).stdout).toContain('anabel may not SELECT');
    const all = await read('acl', 'explain', '--user', 'ana', '--privilege', 'SELECT');
    expect(all).toMatchObject({ code: 0, stdout: expect.stringContaining('may not SELECT from everything') as string });
    const engine = await read('acl', 'explain', '--user', 'etl', '--privilege', 'VIEW_QUERIES', '--json');
    expect(JSON.parse(engine.stdout)).toMatchObject({ allowed: true });
    expect(engine.stderr).toContain('no account has the name etl: answered as for a program');
    const acting = await read('acl', 'explain', '--user', 'ana', '--privilege', 'IMPERSONATE', '--as', 'anabel');
    expect(acting.stdout).toContain('ana may not');
  });

  it('says what is refused, and by which request', async () => {
    const wrong = { ...FILE, users: [...FILE.users, { name: 'nobody' }] };
    await writeFile(join(folder, 'wrong.json'), JSON.stringify(wrong));
    const refused = await write('snapshot', 'apply', join(folder, 'wrong.json'));
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('users[1]') as string });
    const scope = await write('snapshot', 'export');
    expect(scope).toMatchObject({ code: 2, stdout: '' });
    expect(scope.stderr).toMatch(/answers 403 insufficient_scope .*admin\.read.*\(request [^)]+\)$/m);
    const expired = await run(['acl', 'status'], { GRANTLINE_TOKEN: `${reading.slice(0, -1)}_` });
    expect(expired).toMatchObject({ code: 2, stderr: expect.stringContaining('answers 401 token_invalid') as string });
  });

  it.each<[string, string[], Record<string, string>, number, RegExp]>([
    ['no token', [], {}, 78, /GRANTLINE_TOKEN or GRANTLINE_TOKEN_FILE is required with GRANTLINE_URL/],
    ['a token of two lines', [], { GRANTLINE_TOKEN: 'a\nb' }, 78, /GRANTLINE_TOKEN must be an API token/],
    ['no address', ['--url', 'grantline.example.org'], { GRANTLINE_TOKEN: 'x' }, 78, /--url must be the address/],
    ['credentials in it', ['--url', 'https://a:b@c'], { GRANTLINE_TOKEN: 'x' }, 78, /--url must be the address/],
    [
      'plain HTTP',
      ['--url', 'http://grantline.example.org'],
      { GRANTLINE_TOKEN: 'x' },
      78,
      /--url must begin with https/,
    ],
    [
      'a token file that is missing',
      ['--token-file', 'nowhere'],
      {},
      78,
      /GRANTLINE_TOKEN_FILE points at a file that cannot/,
    ],
    ['a token file alone', ['--token-file', 'x'], { GRANTLINE_URL: '' }, 78, /--token-file is for a service: --url/],
    ['nobody there', ['--url', 'http://127.0.0.1:1'], { GRANTLINE_TOKEN: 'x' }, 2, /gives no answer: ECONNREFUSED$/m],
  ])('does nothing with %s', async (_, args, environment, code, message) => {
    const finished = await run(['snapshot', 'apply', file, ...args], environment);
    expect(finished).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(message) as string });
  });

  it('prints no text of a foreign service that commands the terminal', async () => {
    const hostile = 'a\u001b[2J\u202eb\r\nc';
    const server = createServer((_, response) =>
      response
        .writeHead(403, { 'Content-Type': 'application/problem+json' })
        .end(JSON.stringify({ code: hostile, detail: hostile, request_id: hostile })),
    );
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const finished = await run(['acl', 'status', '--url', url], { GRANTLINE_TOKEN: reading });
    server.close();
    expect(finished).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('answers 403') as string });
    expect(finished.stderr).not.toMatch(/[\u001b\u202e\r]|^c/m);
  });

  it('is told apart from a service that gives no answer of its own', async () => {
    const path = `${service.url}/elsewhere`;
    const elsewhere = await run(['acl', 'status', '--url', path], { GRANTLINE_TOKEN: reading });
    expect(elsewhere).toMatchObject({ code: 2, stderr: expect.stringContaining(`${path} answers 404`) as string });
  });
});
