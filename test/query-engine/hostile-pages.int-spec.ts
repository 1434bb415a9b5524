import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { NodeTimers } from '../../src/kernel/clock.js';
import { ana, StatementClientUnderTest } from './statement-client-under-test.js';

const MIB = 1_048_576;
const GIB = 1024 * MIB;
const LARGEST = 4 * MIB;
/** The buffers of both sockets, and what is under way in them. */
const IN_FLIGHT = 16 * MIB;

const BEFORE = '{"id":"q","stats":{"state":"RUNNING"},"columns":[{"name":"v","type":"varchar"}],"data":[["';
const AFTER = '"]]}';

const timers = new NodeTimers();

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

describe('hostile pages', () => {
  let tested: StatementClientUnderTest;
  let server: Server;
  let answer: Answer;
  let requests: number;
  let sockets: Socket[];

  beforeAll(async () => {
    tested = await StatementClientUnderTest.start();
  });
  afterAll(() => tested.stop());
  beforeEach(async () => {
    [requests, sockets] = [0, []];
    server = createServer((request, response) => {
      requests += 1;
      answer(response, request);
    });
    server.on('connection', (socket) => sockets.push(socket));
    await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  });

  /** One page, and how many bytes of it were counted. */
  async function page(time = 30_000): Promise<{ outcome: unknown; counted: number }> {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let counted = 0;
    const limits = { deadline: timers.now() + time, onBytes: (bytes: number) => void (counted = bytes) };
    const outcome = await tested
      .client({ origin, maxPageBytes: LARGEST }, timers)
      .advance('/v1/statement/executing/q/y/1', ana, limits)
      .catch((error: unknown) => error);
    return { outcome, counted };
  }

  const written = (): number => sockets.reduce((sum, socket) => sum + socket.bytesWritten, 0);

  /** Writes until everything is sent or the client has gone. */
  const send = (response: ServerResponse, bytes: Iterable<Buffer | string>): void => {
    pipeline(Readable.from(bytes), response).catch(() => undefined);
  };

  function* repeated(block: Buffer, times: number): Generator<Buffer> {
    for (let time = 0; time < times; time += 1) yield block;
  }

  it.each([['announced', { 'Content-Length': String(2 * GIB) }] as const, ['in chunks', {}] as const])(
    'a page of 2 GiB, %s, is given up at the limit',
    async (_, headers) => {
      answer = (response) => {
        response.writeHead(200, headers);
        response.write(BEFORE);
        send(response, repeated(Buffer.alloc(MIB, 'x'), 2048));
      };

      const { outcome, counted } = await page();

      expect(outcome).toMatchObject({ kind: 'too-large' });
      expect(counted).toBeLessThanOrEqual(LARGEST);
      expect(written()).toBeLessThan(LARGEST + IN_FLIGHT);
      expect(requests).toBe(1);
    },
  );

  it('a gzip bomb is given up at the limit of what it unpacks to', async () => {
    const member = gzipSync(Buffer.alloc(MIB, ' '));
    answer = (response) => {
      response.writeHead(200, { 'Content-Encoding': 'gzip' });
      send(response, repeated(member, 2048));
    };

    const { outcome, counted } = await page();

    expect(outcome).toMatchObject({ kind: 'too-large' });
    expect(counted).toBeLessThanOrEqual(LARGEST);
  });

  it.each(['gzip', 'deflate', 'br'])('a body that is not %s, as its header says, is no page', async (coding) => {
    answer = (response) => {
      response.writeHead(200, { 'Content-Encoding': coding });
      response.end(BEFORE + AFTER);
    };

    const { outcome } = await page(200);

    expect(outcome).toMatchObject({ kind: expect.stringMatching(/^(deadline|unavailable)$/) as string });
  });

  it('a header of 1 MB is no answer, and is not asked for again', async () => {
    answer = (response) => {
      response.writeHead(200, { 'X-Trino-Set-Session': `a=${'x'.repeat(1_000_000)}` });
      response.end(BEFORE + AFTER);
    };

    const { outcome } = await page();

    expect(outcome).toMatchObject({ kind: 'protocol' });
    expect(requests).toBe(1);
  });

  it.each(['in the body', 'in the headers'])('a page that drips %s ends with the statement’s time', async (where) => {
    answer = (response, { socket }) => {
      if (where === 'in the body') response.writeHead(200).write(BEFORE);
      else socket.write('HTTP/1.1 200 OK\r\nX-Slow: ');
      const drip = setInterval(() => (where === 'in the body' ? response.write('x') : socket.write('x')), 5);
      socket.once('close', () => clearInterval(drip));
    };

    const { outcome } = await page(300);

    expect(outcome).toMatchObject({ kind: 'deadline' });
  });

  it('a page in chunks of one byte is read as any other', async () => {
    const value = 'é'.repeat(20_000);
    answer = (response, { socket }) => {
      response.removeAllListeners();
      const bytes = Buffer.from(BEFORE + value + AFTER);
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write(
        Buffer.concat([...bytes].flatMap((byte) => [Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')])),
      );
      socket.write('0\r\n\r\n');
    };

    const { outcome } = await page();

    expect(outcome).toMatchObject({ page: { queryId: 'q', rows: { length: 1 } } });
  });
});
