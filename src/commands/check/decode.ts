import type { PlacedFinding } from '../../rules-files/check/checks.js';
import { firstInvalidOffset } from '../../trino-rules/document/rules-reader.js';

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
  const faultAt = firstInvalidOffset(hasByteOrderMark ? bytes.subarray(3) : bytes, text);
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
