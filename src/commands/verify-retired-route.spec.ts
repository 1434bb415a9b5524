import { judgeRoute, type RouteAnswer, routeUrls, signOfEngine } from './verify-retired-route.js';

type Answer = Extract<RouteAnswer, { kind: 'answer' }>;
const answer = (status: number, body: string, headers: Record<string, string> = {}): Answer => ({
  kind: 'answer',
  probe: 'SELECT 1',
  status,
  headers,
  body,
});
const silence: RouteAnswer = { kind: 'silence', probe: 'SELECT 1', reason: 'ECONNREFUSED' };
const foreign = answer(405, '', { server: 'nginx', location: 'https://www.example.org/' });
const engine = answer(200, '{"id":"20261120_1","nextUri":"http://trino/v1/statement/queued/…');

describe('signOfEngine', () => {
  it.each([
    ['a statement', engine],
    ['a failed statement', answer(200, '{"id":"q","infoUri":"http://trino/ui","stats":{"state":"FAILED"},"error":{}}')],
    ['its realm', answer(401, 'Unauthorized', { 'www-authenticate': 'Bearer realm="Trino", token_type="JWT"' })],
    ['its realm, for Basic', answer(401, '', { 'www-authenticate': 'Basic realm="Trino"' })],
    ['plain HTTP refused', answer(403, 'Error 403 Forbidden: Authentication over HTTP is not enabled')],
    ['no user', answer(401, 'Basic authentication or X-Trino-Original-User or X-Trino-User must be sent')],
    ['mixed headers', answer(400, 'Error 400 Bad Request: Both Trino and Query headers detected')],
    [
      'a forwarded header',
      answer(406, 'Server configuration does not allow processing of the X-Forwarded-Proto header'),
    ],
    ['a stack trace', answer(500, 'java.lang.RuntimeException\n\tat io.trino.server.Server')],
    ['a header', answer(200, '', { 'x-trino-set-catalog': 'tpch' })],
    [
      'information',
      answer(200, '{"nodeVersion":{"version":"483"},"environment":"p","coordinator":true,"starting":false}'),
    ],
  ])('sees %s', (_, seen) => {
    expect(signOfEngine(seen)).not.toBeNull();
  });

  it.each([
    ['another backend', foreign],
    ["another service's problem", answer(405, '{"type":"about:blank","status":405,"code":"method_not_allowed"}')],
    ['a page that writes about it', answer(200, '<html>Trino is a query engine; its /v1/statement takes SQL.</html>')],
    ['JSON of another service', answer(200, '{"id":"7","stats":{"visits":3}}')],
    ["another's challenge", answer(401, '', { 'www-authenticate': 'Bearer realm="example"' })],
  ])('sees nothing in %s', (_, seen) => {
    expect(signOfEngine(seen)).toBeNull();
  });
});

describe('judgeRoute', () => {
  it.each<[string, RouteAnswer[], string]>([
    ['nothing but foreign answers', [foreign, foreign], 'retired'],
    ['one sign among several answers', [foreign, engine, silence], 'reachable'],
    ['silence beside a foreign answer', [foreign, silence], 'unknown'],
    ['silence', [silence, silence], 'unknown'],
  ])('%s', (_, answers, verdict) => {
    expect(judgeRoute(answers).verdict).toBe(verdict);
  });

  it('names the server that answered', () => {
    expect(judgeRoute([foreign, silence]).lines).toEqual([
      'SELECT 1: 405, nothing of an engine, from nginx, redirected to https://www.example.org/',
      'SELECT 1: not answered (ECONNREFUSED)',
    ]);
  });
});

describe('routeUrls', () => {
  it.each([
    ['https://trino.example.org', 'https://trino.example.org/v1/statement'],
    ['https://trino.example.org:8443/', 'https://trino.example.org:8443/v1/statement'],
    ['http://host/engine/?x=1#y', 'http://host/engine/v1/statement'],
    ['https://trino.example.org/v1/statement/', 'https://trino.example.org/v1/statement'],
  ])('%s', (text, statement) => {
    expect(routeUrls(text)?.statementUrl).toBe(statement);
  });

  it.each(['trino.example.org', 'ftp://trino.example.org', 'https://me:secret@trino.example.org', ''])(
    'refuses %j',
    (text) => {
      expect(routeUrls(text)).toBeNull();
    },
  );
});
