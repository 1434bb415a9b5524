import fc from 'fast-check';
import { hasJwsSyntax } from './jws-syntax.js';

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
