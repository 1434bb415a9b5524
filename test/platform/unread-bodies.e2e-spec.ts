import { administrator } from '../support/administrator.js';
import { RawConnection, statusesIn } from '../support/raw-connection.js';
import { startService, type TestService } from '../support/service.js';

describe('bodies that are not read', () => {
  let service: TestService;
  let token: string;
  beforeAll(async () => {
    service = await startService();
    token = (await administrator(service)).token;
  });
  afterAll(() => service.stop());

  const post = (path: string, headers: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${headers}\r\n`;

  it.each([
    ['no session', '/api/admin/groups', '', 401],
    ['a forged token', '/api/queries', 'Authorization: Bearer eyJhbGciOiJub25lIn0.e30.\r\n', 401],
    ['nothing there', '/nowhere', '', 404],
    ['no method of it', '/api/auth/me', '', 405],
    ['a content type that is none', '/api/admin/groups', 'Content-Type: a b;;\r\n', 401],
  ])('are refused before a byte of them has come: %s', async (_, path, headers, status) => {
    const connection = await RawConnection.open(service.url);
    connection.send(post(path, `${headers}Content-Length: 1000000\r\n`));

    expect(statusesIn(await connection.reads(/\}$/))).toEqual([status]);
    connection.destroy();
  });

  it('are thrown away, and the connection serves the next request', async () => {
    const connection = await RawConnection.open(service.url);
    const body = 'a'.repeat(1_000_000);
    connection.send(`${post('/api/admin/groups', 'Content-Length: 1000000\r\n')}${body}`);
    await connection.reads(/"token_missing"[^}]*\}$/);
    connection.send(`${post('/api/auth/login', 'Transfer-Encoding: chunked\r\n')}f4240\r\n${body}\r\n0\r\n\r\n`);
    await connection.reads(/"payload_too_large"[^}]*\}$/);
    connection.send(`GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n`);

    expect(statusesIn(await connection.reads(/"not_found"[^}]*\}$/))).toEqual([401, 413, 404]);
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
