export type LengthFault = 'UNCLEAR_LENGTH';

interface Head {
  headers: Readonly<Record<string, string | string[] | undefined>>;
  httpVersion: string;
}

/**
 * Another server on the way could see another end of such a body, and the next request in it (RFC 9112 sections 6.1 and 11.2). Node
 * refuses two lengths itself, but takes an empty encoding for none, and reads chunks behind other encodings and in HTTP/1.0.
 */
export function lengthFault({ headers, httpVersion }: Head): LengthFault | null {
  const encoding = headers['transfer-encoding']; // several are joined
  if (encoding === undefined) return null;
  const isClear = encoding === 'chunked' && headers['content-length'] === undefined && httpVersion === '1.1';
  return isClear ? null : 'UNCLEAR_LENGTH';
}
