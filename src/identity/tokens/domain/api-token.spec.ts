import { createHash } from 'node:crypto';
import { idInToken, TOKEN_BYTES, newTokenText } from './api-token.js';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

describe('the text of an API token', () => {
  const { id, text } = newTokenText(Buffer.alloc(TOKEN_BYTES, 0xa7));

  it('has a prefix for scanners, an id for people, and a checksum that anybody can compute', () => {
    expect(text).toMatch(/^glt_[0-9A-Za-z]{57}$/);
    expect(text.slice(4, 12)).toBe(id);
    const number = createHash('sha256').update(text.slice(0, 55)).digest().readUInt32BE(0);
    const value = Array.from(text.slice(55)).reduce((sum, digit) => sum * 62 + DIGITS.indexOf(digit), 0);
    expect(value).toBe(number);
    expect(idInToken(text)).toBe(id);
  });

  it('loses no bit of what is random', () => {
    const secret = newTokenText(Buffer.alloc(TOKEN_BYTES, 0xff)).text.slice(12, 55);
    const value = Array.from(secret).reduce((sum, digit) => sum * 62n + BigInt(DIGITS.indexOf(digit)), 0n);
    expect(value).toBe(2n ** 256n - 1n);
  });

  it.each([
    ['a character less', text.slice(0, -1)],
    ['a character more', `${text}0`],
    ['another checksum', text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')],
    ['two characters exchanged', text.slice(0, 20) + 'zA' + text.slice(22)],
    ['another prefix', text.replace('glt_', 'glx_')],
    ['a blank before it', ` ${text}`],
    ['a line end behind it', `${text}\n`],
  ])('is none with %s', (_, other) => expect(idInToken(other)).toBeNull());
});
