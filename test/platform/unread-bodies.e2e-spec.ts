import { once } from 'node:events';
import type { Socket } from 'node:net';
import { administrator } from '../support/service/administrator.js';
import type { Answer, ApiClient } from '../support/service/api-client.js';
import { RawConnection, statusesIn } from '../support/service/raw-connection.js';
import { sharedService } from '../support/service/service.js';

describe('bodies that are not read', () => {
  const service = sharedService();
  let boss: ApiClient;
  let token: string;
  beforeAll(async () => {
    boss = await administrator(service);
    ({ token } = boss);
  });

  const post = (path: string, headers: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n`;

  const get = 'GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n';

  it.each([
    ['no session', '/api/admin/groups', '', 401],
    ['a forged token', '/api/queries', 'Authorization: Bearer eyJhbGciOiJub25lIn0.e30.\r\n', 401],
    ['nothing there', '/nowhere', '', 404],
    ['no method of it', '/api/auth/me', '', 405],
    ['compressed', '/api/auth/login', 'Content-Encoding: gzip\r\n', 415],
    ['too long', '/api/auth/login', '', 413],
    ['a content type that is none', '/api/admin/groups', 'Content-Type: a b;;\r\n', 401],
  ])('are refused before a byte of them has come: %s', async (_, path, headers, status) => {
    const connection = await RawConnection.open(service.url);
    connection.send(post(path, `${headers}Content-Length: 1000000\r\n`));

    expect(statusesIn(await connection.reads(/\}$/))).toEqual([status]);
    connection.destroy();
  });

  it.each([
    ['DELETE', '/api/queries/6d1f0c3e-0000-4000-8000-000000000000', 404],
    ['POST', '/api/admin/acl/preview', 200],
  ])('are not waited for where nobody reads them: %s %s', async (method, path, status) => {
    const connection = await RawConnection.open(service.url);
    const headers = `Authorization: Bearer ${token}\r\nContent-Length: 60000\r\n`;
    connection.send(post(path, headers).replace('POST', method));

    expect(statusesIn(await connection.reads(/\}$/))).toEqual([status]);
    connection.send(`${'a'.repeat(60_000)}${get}`);
    expect(statusesIn(await connection.reads(/"not_found"[^}]*nowhere|Not Found[^}]*\}$/))).toContain(404);
    connection.destroy();
  });

  it('are thrown away where they are short, and the connection serves the next request', async () => {
    const connection = await RawConnection.open(service.url);
    connection.send(post('/api/admin/groups', 'Content-Length: 60000\r\n'));
    await connection.reads(/"token_missing"[^}]*\}$/);
    connection.send('a'.repeat(60_000)).send(get);

    expect(statusesIn(await connection.reads(/"not_found"[^}]*\}$/))).toEqual([401, 404]);
    connection.destroy();
  });

  it.each([
    ['no session', 'POST', '/api/admin/groups', 'Content-Length: 1000000\r\n', 'a', 401],
    ['too long', 'POST', '/api/auth/login', 'Transfer-Encoding: chunked\r\n', `4000\r\n${'a'.repeat(16_384)}\r\n`, 413],
    [
      'compressed',
      'POST',
      '/api/auth/login',
      'Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n',
      '1\r\na\r\n',
      415,
    ],
    ['a method without a body', 'GET', '/nowhere', 'Transfer-Encoding: chunked\r\n', '1\r\na\r\n', 404],
  ])('end the connection with the answer where they are long or endless: %s', async (_, ...request) => {
    const [method, path, headers, more, status] = request;
    const connection = await RawConnection.open(service.url);
    connection.send(post(path, headers).replace('POST', method));
    for (let count = 0; count < 64; count += 1) connection.send(more);

    const text = await connection.closed; // and what follows is not taken for a request
    expect(statusesIn(text)).toEqual([status]);
    expect(text.toLowerCase()).toContain('connection: close');
    expect(text).toMatch(/\}$/);
  });

  it.each([
    ['as a program writes lines', 60, 401],
    ['a byte each', 1, 413],
  ])('count each chunk as 64 bytes at least: %s', async (_, size, status) => {
    const connection = await RawConnection.open(service.url);
    const body = `{"username":"somebody","password":"no password of anybody"}${' '.repeat(15_000)}`;
    const chunks = body.match(new RegExp(`.{1,${size}}`, 'g')) ?? [];
    connection.send(post('/api/auth/login', 'Transfer-Encoding: chunked\r\n'));
    connection.send(chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join(''));
    connection.send(`0\r\n\r\n${get.replace('Host: x', 'Host: x\r\nConnection: close')}`);

    expect(statusesIn(await connection.closed)).toEqual(status === 413 ? [413] : [status, 404]);
  });

  it.each([
    ['a long body', 401, post('/api/admin/groups', 'Content-Length: 1000000\r\n')],
    ['bytes after its last request', 404, get.replace('Host: x', 'Host: x\r\nConnection: close')],
  ])('lose no answer to a client that reads only when it has sent all: %s', async (_, status, beginning) => {
    const accepted = once(service.app.getHttpServer(), 'connection') as Promise<[Socket]>;
    const connection = (await RawConnection.open(service.url)).stopReading();
    const [server] = await accepted;
    connection.send(`${beginning}${'a'.repeat(1_000_000)}`);
    await connection.sent();
    connection.readOn();

    expect(statusesIn(await connection.closed)).toEqual([status]);
    if (!server.closed) await once(server, 'close');
    expect(server.bytesRead).toBeGreaterThan(1_000_000);
  });

  it.each<[string, string, (sender: ApiClient, id: number) => Promise<Answer>]>([
    ['the session ended', 'token_invalid', (sender) => sender.post('/api/auth/logout-all')],
    ['the role was taken', 'administrator_required', (_, id) => boss.patch(`/api/admin/users/${id}`, { role: 'user' })],
  ])('do nothing for a sender who held them back until %s', async (_, code, shutOut) => {
    const sender = await administrator(service, code);
    const id = Number((await sender.get('/api/auth/me')).body?.['id']);
    const connection = await RawConnection.open(service.url);
    const body = JSON.stringify({ name: `of ${code}` });
    const headers = `Authorization: Bearer ${sender.token}\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n`;
    connection.send(post('/api/admin/groups', headers));
    await connection.reads(/100 Continue/);
    expect((await shutOut(sender, id)).status).toBeLessThan(300);
    connection.send(body);

    expect(await connection.reads(/\}$/)).toContain(`"code":"${code}"`);
    connection.destroy();
  });

  it('are asked for only where they are wanted: 100 Continue', async () => {
    const body = '{"name": "asked_for"}';
    const headers = `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n`;
    const stranger = await RawConnection.open(service.url);
    stranger.send(post('/api/admin/groups', headers));
    const admin = await RawConnection.open(service.url);
    admin.send(post('/api/admin/groups', `Authorization: Bearer ${token}\r\n${headers}`));
    await admin.reads(/100 Continue\r\n\r\n$/);
    admin.send(body);

    expect(statusesIn(await stranger.reads(/\}$/))).toEqual([401]);
    expect(statusesIn(await admin.reads(/\}$/))).toEqual([100, 201]);
    stranger.destroy();
    admin.destroy();
  });
});
