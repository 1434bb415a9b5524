/** What keys are said to look like, in samples and comments, and what stands there until somebody puts in a key. */
const SAMPLE = /openssl|required|example|sample|placeholder|change[-_ ]?me|your[-_ ]?(secret|key)/i;

/**
 * A key for HS256 needs 256 bits (RFC 7518 section 3.2), and nobody else may have it: no PEM file (its public half, or a file that
 * other services read), no text of a sample, no block repeated; few different characters betray a placeholder.
 */
export function isWeakSecret(secret: string): boolean {
  return (
    Buffer.byteLength(secret) < 32 ||
    new Set(secret).size < 10 ||
    secret.includes('-----BEGIN ') ||
    SAMPLE.test(secret) ||
    period(secret) * 2 <= secret.length
  );
}

/** The length of the shortest block that the text is a repetition of, the last one perhaps cut off. */
function period(text: string): number {
  let length = 1;
  while (!text.startsWith(text.slice(length))) length += 1;
  return length;
}
