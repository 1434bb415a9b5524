import fc from 'fast-check';
import { judgeClaims } from './claims.js';

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
const kindOf = (claims: unknown, now = NOW): string => judgeClaims(claims, 'access', now).kind;

describe('claims', () => {
  it('are read into what we rely on', () => {
    expect(judgeClaims(payload(), 'access', NOW)).toEqual({
      kind: 'good',
      claims: {
        userId: 12,
        sessionId: '0b54a0d6-93f1-4c33-9b6f-0a6d2f0d3a11',
        jti: 'abc',
      },
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
    expect(kindOf(claims)).toBe('invalid');
  });

  it('let a clock run a minute ahead, but not past their end', () => {
    expect(kindOf(payload({ iat: SECONDS + 60 }))).toBe('good');
    expect(kindOf(payload(), new Date((SECONDS + 1800) * 1000 - 1))).toBe('good');
    expect(kindOf(payload(), new Date((SECONDS + 1800) * 1000))).toBe('expired');
  });

  it('that are not exactly ours are never good, whatever they are', () => {
    const names = ['sub', 'type', 'sid', 'jti', 'iat', 'exp'] as const;
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.jsonValue(), (name, value) => {
        fc.pre(typeof value !== 'string' || name !== 'jti');
        fc.pre(typeof value !== 'number' || (name !== 'iat' && name !== 'exp'));
        fc.pre(name !== 'sub' || typeof value !== 'string' || !/^[1-9][0-9]{0,9}$/.test(value));
        expect(kindOf(payload({ [name]: value }))).toBe('invalid');
      }),
    );
  });
});
