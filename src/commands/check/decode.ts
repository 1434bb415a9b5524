import type { PlacedFinding } from '../../trino-rules/check/placed-finding.js';

export interface DecodedFile {
  text: string;
  findings: PlacedFinding[];
}

/**
 * Bytes as the engine's reader takes them: UTF-8, with or without a mark, or UTF-16, told by the zeros of its first characters
 * (RFC 4627). What is no UTF-8 is replaced, and reported where it begins.
 */
export function decodeFile(bytes: Uint8Array): DecodedFile {
  const [first, second] = bytes;
  const mark = (message: string): PlacedFinding => ({ code: 'json-byte-order-mark', message, at: 0 });
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== undefined && second !== 0))
    return { text: decoded('utf-16be', bytes), findings: [mark('the file is UTF-16, not UTF-8')] };
  if ((first === 0xff && second === 0xfe) || (second === 0 && first !== undefined && first !== 0))
    return { text: decoded('utf-16le', bytes), findings: [mark('the file is UTF-16, not UTF-8')] };
  const text = decoded('utf-8', bytes);
  const marks = first === 0xef && second === 0xbb ? [mark('the file begins with a byte order mark')] : [];
  const bad = firstInvalid(bytes, text, marks.length > 0 ? 3 : 0);
  if (bad === null) return { text, findings: marks };
  return {
    text,
    findings: [...marks, { code: 'json-encoding', message: 'from here on the file is not UTF-8', at: bad }],
  };
}

function decoded(encoding: string, bytes: Uint8Array): string {
  return new TextDecoder(encoding).decode(bytes);
}

/** The offset of the first character that stands for bytes that are none; null: there is no such. */
function firstInvalid(bytes: Uint8Array, text: string, skipped: number): number | null {
  const again = new TextEncoder().encode(text);
  const own = bytes.subarray(skipped);
  const at = again.findIndex((byte, i) => byte !== own[i]);
  if (at < 0 && again.length === own.length) return null;
  // The bytes before the difference may end within a character.
  return new TextDecoder('utf-8').decode(own.subarray(0, at < 0 ? own.length : at)).replace(/\ufffd+$/, '').length;
}
