/** A key for HS256 needs 256 bits (RFC 7518 section 3.2); few different characters betray a placeholder. */
export function isWeakSecret(secret: string): boolean {
  return Buffer.byteLength(secret) < 32 || new Set(secret).size < 10;
}
