import { secretDigest } from '../../../kernel/secret.js';

/** `glt_`, an id of 8, 32 random bytes as 43, and a checksum of 6 characters of base62. */
const FORM = /^(glt_([0-9A-Za-z]{8})[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** Whether a text has the form of a token's id; no other is looked for in the database. */
export function isTokenId(text: string): boolean {
  return /^[0-9A-Za-z]{8}$/.test(text);
}

/** Random bytes that a token is made of: 6 for its id, 32 that nobody can guess. */
export const TOKEN_BYTES = 38;

/** A new token's text and the id in it. */
export function tokenText(random: Buffer): { id: string; text: string } {
  const id = base62(random.subarray(0, 6), 8);
  const unchecked = `glt_${id}${base62(random.subarray(6), 43)}`;
  return { id, text: unchecked + checksum(unchecked) };
}

/** The id in a text that has the form and the checksum of a token; null: it is none. So typing errors and scanners cost no query. */
export function idInToken(text: string): string | null {
  const [, unchecked = '', id = '', check] = FORM.exec(text) ?? [];
  return check !== undefined && checksum(unchecked) === check ? id : null;
}

/** The first 32 bits of the SHA-256 of what stands before it. Judged at every request: of numbers, which are faster than BigInts. */
function checksum(unchecked: string): string {
  let rest = secretDigest(unchecked).readUInt32BE(0);
  let text = '';
  for (; text.length < 6; rest = Math.floor(rest / 62)) text = (DIGITS[rest % 62] ?? '') + text;
  return text;
}

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The last `length` digits of the number that the bytes are, the most significant first. */
function base62(bytes: Buffer, length: number): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`);
  let text = '';
  for (; text.length < length; rest /= 62n) text = (DIGITS[Number(rest % 62n)] ?? '') + text;
  return text;
}
