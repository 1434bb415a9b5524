/** What decides how the cookie of a browser's session is called. */
export interface CookieSite {
  production: boolean;
  protocol: string;
  /** Without the port. */
  hostname: string;
}

/** Browsers keep `__Host-` and `Secure` cookies of plain HTTP only where it does not leave the machine. */
function isSecure({ production, protocol, hostname }: CookieSite): boolean {
  return production || protocol === 'https' || hostname === 'localhost' || hostname === '127.0.0.1';
}

export function browserCookieName(site: CookieSite): string {
  return isSecure(site) ? '__Host-grantline' : 'grantline';
}

/** Of the session's secret. */
export const COOKIE_BYTES = 32;

/** Whether a text looks like a session's secret; no other is looked for in the database. */
export function hasCookieForm(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** The session's secret in a `Cookie` header; null: none. */
export function browserCookieIn(header: string | undefined, site: CookieSite): string | null {
  return cookiesOf(header).get(browserCookieName(site)) ?? null;
}

/** For `Set-Cookie`: only this host, not for scripts, and never with a request of another site. */
export function browserCookie(site: CookieSite, value: string): string {
  return `${browserCookieName(site)}=${value}; Path=/; ${isSecure(site) ? 'Secure; ' : ''}HttpOnly; SameSite=Strict`;
}

export function expiredBrowserCookie(site: CookieSite): string {
  return `${browserCookie(site, '')}; Max-Age=0`;
}

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
