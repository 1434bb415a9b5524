import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { fastify } from 'fastify';
import { LogBook } from '../../../test/support/fakes/log-book.js';
import { RawConnection } from '../../../test/support/service/raw-connection.js';
import { Connections, forgiveSignedIn } from './connections.js';

const LINES = 'a\n'.repeat(1_000); // as a head, more than one has

describe('requests of a connection', () => {
  /** Of the latest body. */
  let pieces = 0;
  const server = new Connections({ requestSeconds: 30, sendSeconds: 60 }, new LogBook()).serve((request, response) => {
    let length = 0;
    pieces = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      pieces += 1;
    });
    request.on('end', () => response.end(`[${request.method} ${request.url} ${length}]`));
  });
  let url: string;
  beforeAll(async () => {
    server.on('clientError', (error, socket) => socket.end(`[${error.message}]`));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => server.close());

  const answersIn = (text: string): string[] => text.match(/\[.*?\]/g) ?? [];

  const get = (path: string): string => `GET ${path} HTTP/1.1\r\n\r\n`;
  const counted = (path: string, body: string): string =>
    `POST ${path} HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const chunked = (path: string, ...chunks: string[]): string =>
    `POST ${path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${chunks
      .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
      .join('')}0\r\nA-Trailer: x\r\n\r\n`;

  it.each([1, 2, 3, 4])(
    'have bodies of any lines, where all but %i bytes of their head came with another',
    async (missing) => {
      const connection = await RawConnection.open(url);
      const second = counted('/2', LINES);
      const cut = second.length - LINES.length - missing;
      connection.send(chunked('/1', 'a') + second.slice(0, cut));
      await connection.reads(/\/1 1\]/);
      connection.send(second.slice(cut) + get('/3'));

      expect(answersIn(await connection.reads(/\/3 0\]|TOO_MANY/))).toEqual([
        '[POST /1 1]',
        '[POST /2 2000]',
        '[GET /3 0]',
      ]);
      connection.destroy();
    },
  );

  it.each([
    ['of one byte', 'a', 15_000],
    ['of sixty bytes', 'a'.repeat(60), 1_000],
  ])('have bodies in many chunks, which reach their reader in few pieces: %s', async (_, data, count) => {
    const connection = (await RawConnection.open(url)).send(chunked('/', ...Array<string>(count).fill(data)));

    expect(await connection.reads(/\]/)).toContain(`[POST / ${data.length * count}]`);
    expect(pieces).toBeLessThan(count / 50);
    connection.destroy();
  });

  it.each([
    ['a chunk that is none', 'a\r\n', 'MALFORMED_CHUNKS'],
    ['more extensions than data', `1;${'e'.repeat(20_000)}\r\n`, 'TOO_MUCH_FRAMING'],
    ['more trailers than data', `0\r\n${'a: b\r\n'.repeat(5_000)}`, 'TOO_MUCH_FRAMING'],
  ])('are not parsed on after %s', async (_, bytes, code) => {
    const connection = (await RawConnection.open(url)).send(chunked('/', 'a').slice(0, -19) + bytes + get('/'));

    expect(answersIn(await connection.closed)).toEqual([`[${code}]`]);
  });

  it('are answered, where their client has ended its side by then', async () => {
    const client = connect(Number(new URL(url).port), '127.0.0.1').end(get('/').repeat(50));

    expect(answersIn(await text(client))).toHaveLength(50);
  });

  it('are the same in whatever pieces they come', async () => {
    const body = fc.constantFrom('', 'x', '\r\n\r\n', get('/body').repeat(60), LINES, 'x'.repeat(5_000));
    const request = fc.oneof(
      fc.constant({ text: get('/'), answer: '[GET / 0]' }),
      fc.constant({ text: `\r\n${get('/')}`, answer: '[GET / 0]' }),
      body.map((sent) => ({ text: counted('/', sent), answer: `[POST / ${sent.length}]` })),
      fc
        .array(
          body.filter(({ length }) => length > 0),
          { maxLength: 3 },
        )
        .map((chunks) => ({
          text: chunked('/', ...chunks),
          answer: `[POST / ${chunks.join('').length}]`,
        })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { maxLength: 20 }),
        fc.integer({ min: 300, max: 5_000 }),
        async (all, size) => {
          const connection = await RawConnection.open(url);
          const bytes = all.map((one) => one.text).join('') + get('/last');
          for (let at = 0; at < bytes.length; at += size) {
            connection.send(bytes.slice(at, at + size));
            await new Promise((resolve) => setImmediate(resolve));
          }

          const answers = answersIn(await connection.reads(/\/last 0\]|\[[A-Z_]+\]/));
          expect(answers).toEqual([...all.map(({ answer }) => answer), '[GET /last 0]']);
          connection.destroy();
        },
      ),
      { numRuns: 30 },
    );
  });
});

describe('what connections owe', () => {
  class Forgiving extends Connections {
    count = 0;

    override forgive(): void {
      this.count += 1;
    }
  }

  it.each([
    [1, 'a person', 'GET', 200],
    [1, 'a person who is refused', 'GET', 404],
    [0, 'a person who asks too much', 'GET', 429],
    [1, 'who signs in', 'POST', 200],
    [0, 'who fails to', 'POST', 401],
    [0, 'nobody', 'GET', 200],
  ] as const)('is forgiven %i times to %s', async (times, who, method, status) => {
    const connections = new Forgiving({ requestSeconds: 30, sendSeconds: 60 }, new LogBook());
    const server = fastify({ serverFactory: (answer) => connections.serve(answer) });
    forgiveSignedIn(server, connections);
    server.all('/', (request, reply) => {
      if (who.startsWith('a person')) Object.assign(request, { user: { id: 1 } });
      return reply.status(status).send();
    });
    const url = await server.listen({ host: '127.0.0.1', port: 0 });
    expect((await fetch(url, { method })).status).toBe(status);
    await server.close();

    expect(connections.count).toBe(times);
  });
});
