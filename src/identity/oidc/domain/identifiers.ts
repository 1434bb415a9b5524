/** Whether a claim can identify a person or a session: 1 to 255 ASCII characters (OpenID Connect Core 2, of `sub`), which can be stored and found. */
export function isIdentifier(claim: unknown): claim is string {
  return typeof claim === 'string' && /^[\x20-\x7e]{1,255}$/.test(claim);
}

export function isAbsent(claim: unknown): boolean {
  return claim === undefined || claim === null || claim === '';
}
