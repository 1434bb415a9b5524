import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { get, RawConnection, statusesIn } from '../support/service/raw-connection.js';
import { startService, type TestService } from '../support/service/service.js';

const BUNDLE = get('/api/docs/swagger-ui-bundle.js');

describe('limits of a connection', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService({ HTTP_REQUEST_TIMEOUT_SECONDS: '2', HTTP_SEND_TIMEOUT_SECONDS: '2' });
  });
  afterAll(() => service.stop());

  it('answers sixteen of the requests that are sent at once, in their order, and closes the connection', async () => {
    const connection = await RawConnection.open(service.url);
    connection.send(get('/nowhere') + get('/api/auth/me').repeat(1_998) + get('/nowhere'));

    const text = await connection.closed;
    expect(statusesIn(text)).toEqual([404, ...Array<number>(15).fill(401)]);
    expect(text.match(/connection: close/gi)).toHaveLength(1);
    expect(text).toMatch(/connection: close[^]*\}$/i);
  });

  it('takes no request behind one that ends its connection', async () => {
    const connection = await RawConnection.open(service.url);
    const body = JSON.stringify({
      username: 'behind_the_end',
      email: 'a@b.example',
      password: 'a password of somebody',
    });
    const register = `POST /api/auth/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    connection.send(`${get('/nowhere').replace('Host: x', 'Host: x\r\nConnection: close')}${register}`);
    expect(statusesIn(await connection.closed)).toEqual([404]);

    const sixteen = (await RawConnection.open(service.url)).send(get('/nowhere').repeat(16) + register);
    expect(statusesIn(await sixteen.closed)).toEqual(Array<number>(16).fill(404));
    const again = (await RawConnection.open(service.url)).send(register);
    expect(statusesIn(await again.reads(/\}$/))).toEqual([201]);
    again.destroy();
  });

  /** A connection that has asked for more than the kernels' buffers hold, and the server's end of it. */
  async function unread(): Promise<{ client: RawConnection; server: Socket }> {
    const accepted = once(service.app.getHttpServer(), 'connection') as Promise<[Socket]>;
    const client = (await RawConnection.open(service.url)).stopReading().send(BUNDLE.repeat(16));
    return { client, server: (await accepted)[0] };
  }

  it('gives up an answer of which nothing is read', async () => {
    const { client, server } = await unread();

    await once(server, 'close');
    client.destroy();
  });

  it('keeps an answer that is read slowly, for longer than one that is not read', async () => {
    const { client, server } = await unread();
    const other = await unread();
    while (!other.server.destroyed) {
      await client.readSome(2 ** 17); // by bytes: the kernel asks for more only when a third of its buffer is free
      await pause(25);
    }

    expect(server.destroyed).toBe(false);
    for (const connection of [client, other.client]) connection.destroy();
  });

  it.each([
    ['headers', 'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nA: '],
    [
      'body',
      'POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{',
    ],
  ])('gives a request a bounded time for its %s, however it trickles', async (_, bytes) => {
    const connection = (await RawConnection.open(service.url)).send(bytes);
    const trickle = setInterval(() => connection.send('a'), 100);

    const text = await connection.closed;
    clearInterval(trickle);
    expect(statusesIn(text)).toEqual([408]);
    expect(text.toLowerCase()).toContain('content-type: application/problem+json');
  });

  it('closes without an answer if the late request was answered before', async () => {
    const connection = await RawConnection.open(service.url);
    connection.send('POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n{');

    expect(statusesIn(await connection.closed)).toEqual([404]);
  });

  it('closes without an answer if malformed bytes follow a request that waits for its answer', async () => {
    const holder = new Client(service.database.migrationUrl);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE');
    const connection = await RawConnection.open(service.url);
    const body = '{"username":"nobody","password":"a password that is hashed"}';
    const login = `POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    connection.send(`${login}\r\n\r\n${body}broken bytes\r\n\r\n`);

    expect(statusesIn(await connection.closed)).toEqual([]);
    await holder.end();
  });
});
