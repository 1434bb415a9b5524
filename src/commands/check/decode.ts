import type { PlacedFinding } from '../../rules-files/check/checks.js';

/**
 * Decodes bytes as the engine's reader does: UTF-8 with or without a byte order mark, or UTF-16, recognized by its mark or by the zeros
 * in the first characters (RFC 4627). Invalid UTF-8 is replaced, and reported at its beginning.
 */
export function decodeFile(bytes: Uint8Array): { text: string; findings: PlacedFinding[] } {
  const mark = (message: string): PlacedFinding => ({ code: 'json-byte-order-mark', message, at: 0 });
  const wide = WIDE.find(({ starts }) => starts.test(Buffer.from(bytes.subarray(0, 2)).toString('hex')));
  if (wide !== undefined)
    return { text: decoded(wide.encoding, bytes), findings: [mark('the file is UTF-16, not UTF-8')] };
  const text = decoded('utf-8', bytes);
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const marks = hasMark ? [mark('the file begins with a byte order mark')] : [];
  const bad = firstInvalid(bytes, text, hasMark ? 3 : 0);
  if (bad === null) return { text, findings: marks };
  return {
    text,
    findings: [...marks, { code: 'json-encoding', message: 'from here on the file is not UTF-8', at: bad }],
  };
}

/** The UTF-16 encodings by the first bytes in hexadecimal. */
const WIDE = [
  { starts: /^(?:feff|00(?!00))/, encoding: 'utf-16be' },
  { starts: /^(?:fffe|(?!00)..00)/, encoding: 'utf-16le' },
];

function decoded(encoding: string, bytes: Uint8Array): string {
  return new TextDecoder(encoding).decode(bytes);
}

/** The offset of the first replacement for invalid bytes; null: all bytes are valid. */
function firstInvalid(bytes: Uint8Array, text: string, skipped: number): number | null {
  const again = new TextEncoder().encode(text);
  const own = bytes.subarray(skipped);
  const at = again.findIndex((byte, i) => byte !== own[i]);
  if (at < 0 && again.length === own.length) return null;
  // The difference may lie within a character, whose first bytes are then decoded to a replacement character.
  return new TextDecoder('utf-8').decode(own.subarray(0, at < 0 ? own.length : at)).replace(/\ufffd+$/, '').length;
}
