/**
 * The cookies of a header (RFC 6265 section 5.4); of one name the first. Other white space than blanks and tabs is part of a name:
 * `trim()` drops it, and a neighbouring host can set a cookie whose name is U+00A0 and then `__Host-grantline`.
 */
export function cookiesOf(header: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of (header ?? '').replace(/[\v\f\u00a0]/g, '\ufffd').split(';')) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    if (at > 0 && !cookies.has(name)) cookies.set(name, pair.slice(at + 1).trim());
  }
  return cookies;
}
