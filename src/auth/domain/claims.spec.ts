import fc from 'fast-check';
import { Refused } from '../../kernel/errors.js';
import { hasJwsSyntax, judgeClaims } from './claims.js';

const NOW = new Date('2026-11-20T12:00:00.000Z');
const SECONDS = NOW.getTime() / 1000;

const payload = (claims: Record<string, unknown> = {}): Record<string, unknown> => ({
  sub: '12',
  type: 'access',
  sid: '0b54a0d6-93f1-4c33-9b6f-0a6d2f0d3a11',
  jti: 'abc',
  iat: SECONDS,
  exp: SECONDS + 1800,
  ...claims,
});
const kindOf = (claims: unknown, now = NOW): string => {
  try {
    judgeClaims(claims, 'access', now);
    return 'good';
  } catch (error) {
    return error instanceof Refused ? error.code : 'another error';
  }
};

describe('claims', () => {
  it('are read into what we rely on', () => {
    expect(judgeClaims(payload(), 'access', NOW)).toEqual({
      userId: 12,
      sessionId: '0b54a0d6-93f1-4c33-9b6f-0a6d2f0d3a11',
      jti: 'abc',
    });
  });

  it('may hold others, which mean nothing to us', () => {
    expect(kindOf(payload({ iss: 'anybody', role: 'admin', constructor: 1 }))).toBe('good');
  });

  it.each<[string, unknown]>([
    ['sub as a number', payload({ sub: 12 })],
    ['sub with a leading zero', payload({ sub: '012' })],
    ['sub with a sign', payload({ sub: '+12' })],
    ['sub zero', payload({ sub: '0' })],
    ['sub as a fraction', payload({ sub: '1.0' })],
    ['sub in another script', payload({ sub: '١٢' })],
    ['sub with white space', payload({ sub: '12\n' })],
    ['sub beyond integer', payload({ sub: '2147483648' })],
    ['sub as a list', payload({ sub: ['12'] })],
    ['no sub', payload({ sub: undefined })],
    ['type refresh', payload({ type: 'refresh' })],
    ['type in capitals', payload({ type: 'Access' })],
    ['type as a list', payload({ type: ['access'] })],
    ['no sid', payload({ sid: undefined })],
    ['sid that is no uuid', payload({ sid: '1' })],
    ['no jti', payload({ jti: undefined })],
    ['no exp', payload({ exp: undefined })],
    ['exp as text', payload({ exp: String(SECONDS + 1800) })],
    ['exp beyond all dates', payload({ exp: 1e300 })],
    ['exp null', payload({ exp: null })],
    ['exp as a fraction', payload({ exp: SECONDS + 0.5 })],
    ['no iat', payload({ iat: undefined })],
    ['iat 61 s ahead', payload({ iat: SECONDS + 61 })],
    ['nbf in the future', payload({ nbf: SECONDS + 1 })],
    ['nbf as text', payload({ nbf: 'now' })],
    ['an audience', payload({ aud: 'grantline' })],
    ['a list', [payload()]],
    ['a string', 'payload'],
    ['null', null],
  ])('are refused: %s', (_, claims) => {
    expect(kindOf(claims)).toBe('token_invalid');
  });

  it('let a clock run a minute ahead, but not past their end', () => {
    expect(kindOf(payload({ iat: SECONDS + 60 }))).toBe('good');
    expect(kindOf(payload(), new Date((SECONDS + 1800) * 1000 - 1))).toBe('good');
    expect(kindOf(payload(), new Date((SECONDS + 1800) * 1000))).toBe('token_expired');
  });

  it('that are not exactly ours are never good, whatever they are', () => {
    const names = ['sub', 'type', 'sid', 'jti', 'iat', 'exp'] as const;
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.jsonValue(), (name, value) => {
        fc.pre(typeof value !== 'string' || name !== 'jti');
        fc.pre(typeof value !== 'number' || (name !== 'iat' && name !== 'exp'));
        fc.pre(name !== 'sub' || typeof value !== 'string' || !/^[1-9][0-9]{0,9}$/.test(value));
        expect(kindOf(payload({ [name]: value }))).toBe('token_invalid');
      }),
    );
  });
});

const text = (json: string): string => Buffer.from(json).toString('base64url');
const HEADER = '{"alg":"HS256","typ":"JWT"}';
const PAYLOAD = '{"sub":"12"}';
const token = (header = HEADER, payload = PAYLOAD, signature = 'c2ln'): string =>
  `${text(header)}.${text(payload)}.${signature}`;

describe('the syntax of a token', () => {
  it.each([
    ['ours', token()],
    ['without typ', token('{"alg":"HS256"}')],
    ['typ in small letters', token('{"typ":"jwt","alg":"HS256"}')],
    ['with a parameter that means nothing to us', token('{"alg":"HS256","kid":"../../etc/passwd","jku":"http://x"}')],
    ['with white space between', token(HEADER, '{ "sub" : "12" }')],
    ['with one name at two levels', token(HEADER, '{"sub":"12","a":{"sub":"13"}}')],
  ])('%s is taken', (_, candidate) => expect(hasJwsSyntax(candidate)).toBe(true));

  it.each([
    ['nothing', ''],
    ['one part', text(HEADER)],
    ['two parts', `${text(HEADER)}.${text(PAYLOAD)}`],
    ['four parts', `${token()}.c2ln`],
    ['no signature', `${text(HEADER)}.${text(PAYLOAD)}.`],
    ['padding', `${text(HEADER)}.${text(PAYLOAD)}.c2k=`],
    ['another last character for the same bytes', token(HEADER, PAYLOAD, 'c2l')],
    ['base64 of the other alphabet', token(HEADER, PAYLOAD, 'c2+/')],
    ['a line break', `${token()}\n`],
    ['alg none', token('{"alg":"none","typ":"JWT"}', PAYLOAD)],
    ['alg None', token('{"alg":"None"}')],
    ['alg hs256', token('{"alg":"hs256"}')],
    ['alg HS512', token('{"alg":"HS512"}')],
    ['alg RS256', token('{"alg":"RS256"}')],
    ['no alg', token('{"typ":"JWT"}')],
    ['alg as a list', token('{"alg":["HS256"]}')],
    ['another typ', token('{"alg":"HS256","typ":"at+jwt"}')],
    ['typ as a number', token('{"alg":"HS256","typ":1}')],
    ['crit', token('{"alg":"HS256","crit":["exp"]}')],
    ['an empty crit', token('{"alg":"HS256","crit":[]}')],
    ['alg twice', token('{"alg":"none","alg":"HS256"}')],
    ['alg twice, once escaped', token('{"alg":"none","\\u0061lg":"HS256"}')],
    ['sub twice', token(HEADER, '{"sub":"12","sub":"13"}')],
    ['a payload that is a list', token(HEADER, '["12"]')],
    ['a payload that is a text', token(HEADER, '"12"')],
    ['a payload that is null', token(HEADER, 'null')],
    ['a payload that is no JSON', token(HEADER, '{sub:12}')],
    ['a byte order mark', token(HEADER, `\ufeff${PAYLOAD}`)],
    [
      'bytes that are no UTF-8',
      `${text(HEADER)}.${Buffer.from('{"sub":"\xff"}', 'latin1').toString('base64url')}.c2ln`,
    ],
    ['a payload nested too deep', token(HEADER, `{"a":${'['.repeat(3000)}${']'.repeat(3000)}}`)],
    ['more than 1 KiB', token(HEADER, JSON.stringify({ sub: 'x'.repeat(1024) }))],
  ])('%s is refused', (_, candidate) => expect(hasJwsSyntax(candidate)).toBe(false));

  it('has one spelling: a token that differs in any character is refused or has another content', () => {
    const ours = token();
    fc.assert(
      fc.property(fc.nat(ours.length - 1), fc.string({ minLength: 0, maxLength: 2 }), (at, other) => {
        const spelled = ours.slice(0, at) + other + ours.slice(at + 1);
        fc.pre(spelled !== ours && hasJwsSyntax(spelled));
        const bytes = (candidate: string): string =>
          candidate
            .split('.')
            .map((part) => Buffer.from(part, 'base64url').toString('hex'))
            .join('.');
        expect(bytes(spelled)).not.toBe(bytes(ours));
      }),
    );
  });

  it('is judged of any text without an exception', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.base64String()), (any) => !hasJwsSyntax(any)));
  });
});
