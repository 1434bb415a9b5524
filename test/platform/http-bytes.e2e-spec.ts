import { connect } from 'node:net';
import { get, RawConnection, statusesIn } from '../support/service/raw-connection.js';
import { sharedService } from '../support/service/service.js';

const JSON_TYPE = 'Content-Type: application/json\r\n';
const LOGIN = `POST /api/auth/login HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}`;

const limitOf = (target: string): string =>
  `POST ${target} HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}Content-Length: 20000\r\n\r\n{"username":"${'a'.repeat(20_000 - 15)}"}`;

describe('bytes that are hardly a request', () => {
  const service = sharedService();

  it.each<[string, string, number, string]>([
    ['no Host', 'GET /api/auth/me HTTP/1.1\r\n\r\n', 400, 'bad_request'],
    ['two Hosts', 'GET /api/auth/me HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400, 'bad_request'],
    ['no Host in HTTP/1.0', 'GET /api/auth/me HTTP/1.0\r\n\r\n', 401, 'token_missing'],
    ['an absolute target', 'GET http://x/api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n', 401, 'token_missing'],
    [
      'an absolute target, wrong method',
      'PUT http://x/api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n',
      405,
      'method_not_allowed',
    ],
    ['a tunnel', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
    ['two lengths', `${LOGIN}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`, 400, 'bad_request'],
    [
      'a length and chunks',
      `${LOGIN}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'bad_request',
    ],
    ['chunks that are none', `${LOGIN}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400, 'bad_request'],
    ['chunks', `${LOGIN}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`, 400, 'validation_failed'],
    [
      'chunks beyond the limit',
      `${LOGIN}Transfer-Encoding: chunked\r\n\r\n4e20\r\n${'a'.repeat(20_000)}`,
      413,
      'payload_too_large',
    ],
    ['a length beyond the limit', `${LOGIN}Content-Length: 10000000000\r\n\r\n{`, 413, 'payload_too_large'],
    ['a limit gone round by an absolute target', limitOf('http://x/api/auth/login'), 413, 'payload_too_large'],
    ['a limit gone round by an escaped letter', limitOf('/api/%61uth/login'), 413, 'payload_too_large'],
    ['a folded header', 'GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n', 400, 'bad_request'],
    [
      'an extension of a chunk that goes on for ever',
      `${LOGIN}Transfer-Encoding: chunked\r\n\r\n1;${'e'.repeat(17_000)}`,
      413,
      'payload_too_large',
    ],
    ['more headers than a client has', `GET / HTTP/1.1\r\nHost: x\r\n${'A:\r\n'.repeat(100)}\r\n`, 431, 'bad_request'],
    ['a path that cannot be decoded', 'GET /api/%zz HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'bad_request'],
    ['the server itself', 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', 404, 'not_found'],
    ['a method that Node does not know', 'BREW /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
    [
      'such a method on an absolute target',
      'BREW http://x/api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n',
      405,
      'method_not_allowed',
    ],
    ['that and no path', 'BREW * HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'bad_request'],
    ['an expectation', 'GET /api/auth/me HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n', 401, 'token_missing'],
    ['a greeting of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01', 400, 'bad_request'],
    ['another version', 'GET / HTTP/1.2\r\nHost: x\r\n\r\n', 400, 'bad_request'],
  ])('%s', async (_, bytes, status, code) => {
    const answer = await answerTo(bytes);

    expect({ status: answer.status, code: answer.body['code'] }).toEqual({ status, code });
    expect(answer.head).toContain('content-type: application/problem+json; charset=utf-8');
    expect(answer.head).toContain(`x-request-id: ${String(answer.body['request_id'])}`);
    expect(answer.head).toContain('x-content-type-options: nosniff');
    expect(answer.head).toContain('cache-control: no-store');
    expect(answer.head.includes('\r\nallow:')).toBe(status === 405);
    expect(answer.head).toContain('http/1.1 ' + `${status} ${String(answer.body['title'])}`.toLowerCase());
  });

  /** Each body is a whole request to a reader that takes the other length (RFC 9112 sections 6.1, 6.3 and 11.2). */
  it.each([
    ...['', ' ', '\t', '\r\nTransfer-Encoding:'].map((value) => `Transfer-Encoding:${value}\r\nContent-Length: 30\r\n`),
    'Content-Length: 30\r\nTransfer-Encoding:\r\n',
    'Content-Length: 30\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length: 30\r\n',
    'Transfer-Encoding: chunked\r\nContent-Length:\r\n',
    'Content-Length: 0\r\nTransfer-Encoding: identity\r\n',
    ...['30, 30', '+30', '3 0', '0x1e', '-0', '30;a', ''].map((value) => `Content-Length: ${value}\r\n`),
    'Content-Length: 30\r\nContent-Length: 30\r\n',
    'Content-Length: 0\r\ncontent-length: 30\r\n',
    ...[
      '',
      'identity',
      'gzip',
      'gzip, chunked',
      'chunked, gzip',
      'chunked, chunked',
      ', chunked',
      'chunked,',
      'xchunked',
    ],
    ...['chunkedx', 'Chunked', 'CHUNKED', '"chunked"', 'chunked;q=1', 'chunked chunked', '\x0bchunked', 'chunked\x0c'],
  ])('of which two readers could make two requests are one, refused: %j', async (framing) => {
    const headers = framing.includes('\r\n') ? framing : `Transfer-Encoding: ${framing}\r\n`;
    const connection = await RawConnection.open(service.url);
    connection.send(`${LOGIN}${headers}\r\n0\r\n\r\n${get('/')}`);

    const text = await connection.closed;
    expect({ statuses: statusesIn(text), text }).toEqual({
      statuses: [400],
      text: expect.stringMatching(/\}$/) as string,
    });
    expect(text.toLowerCase()).toContain('\r\nconnection: close\r\n');
  });

  it.each([
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n',
    'Transfer-Encoding : chunked\r\n',
    ' Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding:\n chunked\r\n',
    'A: b\nTransfer-Encoding: chunked\r\n',
    'A: b\rTransfer-Encoding: chunked\r\n',
    'A: \0\r\nTransfer-Encoding: chunked\r\n',
    'Content-Length : 30\r\n',
    'Content-Length: 30\n',
  ])('and so are lines of framing that are none: %j', async (headers) => {
    const connection = await RawConnection.open(service.url);
    connection.send(`${LOGIN}${headers}\r\n0\r\n\r\n${get('/')}`);

    expect(statusesIn(await connection.closed)).toEqual([400]);
  });

  it('chunks in HTTP/1.0, which has none, are refused', async () => {
    const connection = await RawConnection.open(service.url);
    connection.send(
      `${LOGIN.replace('1.1', '1.0')}Connection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${get('/')}`,
    );

    expect(statusesIn(await connection.closed)).toEqual([400]);
  });

  it('a body that breaks off is the sender’s fault, and no error of ours', async () => {
    await answerTo(`${LOGIN}Content-Length: 100\r\n\r\n{"a"`, { breakOff: true });
    await answerTo('GET /api/auth/me HTTP/1.1\r\nHost: x\r\n\r\n');

    expect(service.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });

  /** Sends bytes, and reads until the answer's problem document is whole. */
  function answerTo(
    bytes: string,
    { breakOff = false } = {},
  ): Promise<{ status: number; head: string; body: Record<string, unknown> }> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
      let text = '';
      const finish = (): void => {
        const [head = '', body = ''] = text.split('\r\n\r\n');
        if (!body.endsWith('}')) return;
        socket.destroy();
        const problem = JSON.parse(body) as Record<string, unknown>;
        resolve({ status: Number(head.slice(9, 12)), head: head.toLowerCase(), body: problem });
      };
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1');
        finish();
      });
      socket.on('error', reject);
      socket.on('end', () => reject(new Error(`no problem document in ${text}`)));
      socket.write(bytes, 'latin1', () => {
        if (breakOff) socket.end();
      });
    });
  }
});
