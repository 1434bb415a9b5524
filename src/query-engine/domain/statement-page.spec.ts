import fc from 'fast-check';
import { ProtocolBreach } from './reading.js';
import { pathOfNextUri, readStatementPage } from './statement-page.js';

const COLUMN = { name: 'a', type: 'bigint', typeSignature: { rawType: 'bigint', arguments: [] } };

describe('a page', () => {
  it.each([
    ['before its columns', ['"data":[[1],[2]]', `"columns":[${JSON.stringify(COLUMN)}]`]],
    ['behind them', [`"columns":[${JSON.stringify(COLUMN)}]`, '"data":[[1],[2]]']],
  ])('has its rows %s', (_, members) => {
    const page = readStatementPage(Buffer.from(`{"id":"q",${members.join(',')},"stats":{}}`));

    expect([page.rows.length, page.columns?.length]).toEqual([2, 1]);
  });

  it.each(['[]', '{"id":"q",1:2}', '{"id":"q","data":{"encoding":"json"}}', '{"id":"q"', '{"id":"q",}', '{"id":"q"}}'])(
    'is not %s',
    (body) => {
      expect(() => readStatementPage(Buffer.from(body))).toThrow(ProtocolBreach);
    },
  );
});

describe('pinned', () => {
  it.each([
    ['https://trino:8443/v1/statement/queued/q/y1/1', '/v1/statement/queued/q/y1/1'],
    ['http://evil.example/v1/statement/executing/q/y2/0?maxWait=1s#x', '/v1/statement/executing/q/y2/0?maxWait=1s'],
    ['/v1/statement/q', '/v1/statement/q'],
    ['//evil.example/v1/statement/q', '/v1/statement/q'],
  ])('%s', (nextUri, path) => {
    expect(pathOfNextUri(nextUri)).toBe(path);
  });

  it.each([
    'http://trino/v1/statement',
    'http://trino/v1/query/q',
    'http://trino/v1/statement/../query/q',
    'http://trino/v1/statement/%2e%2e/query/q',
    'http://trino/v1/statement/.a/../../query/q',
    'http://trino/v1/statement/..%2fquery',
    'http://trino/v1/statement/..%5cquery',
    'http://trino/V1/statement/q',
    'http://trino//v1/statement/q',
    'file:///v1/statement/q',
    'javascript:/v1/statement/q',
    'http://[/v1/statement/q',
    '',
  ])('refuses %s', (nextUri) => {
    expect(() => pathOfNextUri(nextUri)).toThrow(ProtocolBreach);
  });

  it('never leaves the folder, however the link is written', () => {
    const piece = fc.oneof(
      fc.constantFrom('..', '.', '/', '\\', '%2e', '%2f', '@', '?', '#', '//x', 'v1', 'statement'),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        let path: string;
        try {
          path = pathOfNextUri(`/v1/statement/${pieces.join('')}`);
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolBreach);
          return;
        }
        const asked = new URL(`http://engine.test:8080${path}`);

        expect(asked.host).toBe('engine.test:8080');
        const decoded = asked.pathname.replaceAll(/%([\da-f]{2})/gi, (_, hex: string) =>
          String.fromCharCode(parseInt(hex, 16)),
        );
        expect(decoded.split(/[/\\]/)).not.toContain('..');
        expect(asked.pathname).toMatch(/^\/v1\/statement\//);
      }),
    );
  });
});
