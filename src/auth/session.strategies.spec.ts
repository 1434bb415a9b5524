import { VerifiedTokens } from './session.strategies.js';

describe('verified tokens', () => {
  it('are known by every character', () => {
    const verified = new VerifiedTokens();
    verified.remember('head.payload.signature', { sub: '1' });

    expect(verified.payloadOf('head.payload.signature')).toEqual({ sub: '1' });
    for (const other of ['head.payload.signaturf', 'head.payload.', 'Head.payload.signature', '']) {
      expect(verified.payloadOf(other)).toBeUndefined();
    }
  });

  it('are forgotten, the oldest first, when there are too many', () => {
    const verified = new VerifiedTokens(2);
    for (const token of ['a', 'b', 'c']) verified.remember(token, token);

    expect(['a', 'b', 'c'].map((token) => verified.payloadOf(token))).toEqual([undefined, 'b', 'c']);
  });

  it('are not remembered when they are longer than ours: what is kept has a bound in bytes', () => {
    const verified = new VerifiedTokens();
    verified.remember('x'.repeat(512), 1);
    verified.remember('x'.repeat(513), 2);

    expect(verified.payloadOf('x'.repeat(512))).toBe(1);
    expect(verified.payloadOf('x'.repeat(513))).toBeUndefined();
  });
});
