import fc from 'fast-check';
import { pinned } from './next-uri.js';
import { ProtocolBreach } from './reading.js';

describe('pinned', () => {
  it.each([
    ['https://trino:8443/v1/statement/queued/q/y1/1', '/v1/statement/queued/q/y1/1'],
    ['http://evil.example/v1/statement/executing/q/y2/0?maxWait=1s#x', '/v1/statement/executing/q/y2/0?maxWait=1s'],
    ['/v1/statement/q', '/v1/statement/q'],
    ['//evil.example/v1/statement/q', '/v1/statement/q'],
  ])('%s', (nextUri, path) => {
    expect(pinned(nextUri)).toBe(path);
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
    expect(() => pinned(nextUri)).toThrow(ProtocolBreach);
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
          path = pinned(`/v1/statement/${pieces.join('')}`);
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
