import type { PlacedFinding } from '../../rules-files/check/checks.js';

/**
 * Decodes bytes as the engine's reader does: UTF-8 with or without a byte order mark, or UTF-16, recognized by its mark or by the zeros
 * in the first characters (RFC 4627). Invalid UTF-8 is replaced, and reported at its beginning.
 */
export function decodeFile(bytes: Uint8Array): { text: string; findings: PlacedFinding[] } {
  const markFinding = (message: string): PlacedFinding => ({ code: 'json-byte-order-mark', message, at: 0 });
  const utf16 = UTF_16_ENCODINGS.find(({ starts }) => starts.test(Buffer.from(bytes.subarray(0, 2)).toString('hex')));
  if (utf16 !== undefined)
    return { text: decode(utf16.encoding, bytes), findings: [markFinding('the file is UTF-16, not UTF-8')] };
  const text = decode('utf-8', bytes);
  const hasByteOrderMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const markFindings = hasByteOrderMark ? [markFinding('the file begins with a byte order mark')] : [];
  const faultAt = firstInvalidOffset(bytes, text, hasByteOrderMark ? 3 : 0);
  if (faultAt === null) return { text, findings: markFindings };
  return {
    text,
    findings: [...markFindings, { code: 'json-encoding', message: 'from here on the file is not UTF-8', at: faultAt }],
  };
}

/** The UTF-16 encodings by the first bytes in hexadecimal. */
const UTF_16_ENCODINGS = [
  { starts: /^(?:feff|00(?!00))/, encoding: 'utf-16be' },
  { starts: /^(?:fffe|(?!00)..00)/, encoding: 'utf-16le' },
];

function decode(encoding: string, bytes: Uint8Array): string {
  return new TextDecoder(encoding).decode(bytes);
}

/** The offset of the first replacement for invalid bytes; null: all bytes are valid. */
function firstInvalidOffset(bytes: Uint8Array, text: string, bomLength: number): number | null {
  const encodedBytes = new TextEncoder().encode(text);
  const content = bytes.subarray(bomLength);
  const firstDifference = encodedBytes.findIndex((byte, i) => byte !== content[i]);
  if (firstDifference < 0 && encodedBytes.length === content.length) return null;
  // The bytes before the difference may end within a character, which is then decoded to a replacement character.
  const validBytes = content.subarray(0, firstDifference < 0 ? content.length : firstDifference);
  return new TextDecoder('utf-8').decode(validBytes).replace(/\ufffd+$/, '').length;
}
