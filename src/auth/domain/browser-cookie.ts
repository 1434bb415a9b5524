/** The facts that decide the name and flags of the browser session's cookie. */
export interface CookieSite {
  production: boolean;
  protocol: string;
  /** Without the port. */
  hostname: string;
}

/** Over plain HTTP browsers accept `__Host-` and `Secure` cookies from loopback only. */
function isSecure({ production, protocol, hostname }: CookieSite): boolean {
  return production || protocol === 'https' || hostname === 'localhost' || hostname === '127.0.0.1';
}

export function browserCookieName(site: CookieSite): string {
  return isSecure(site) ? '__Host-grantline' : 'grantline';
}

/** Length of the session's secret. */
export const COOKIE_BYTES = 32;

/** Whether a text has the form of a session's secret; other texts cost no query. */
export function hasCookieForm(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** The session's secret in a `Cookie` header; null: none. */
export function browserCookieIn(header: string | undefined, site: CookieSite): string | null {
  return cookiesOf(header).get(browserCookieName(site)) ?? null;
}

/** The `Set-Cookie` header: for this host only, not for scripts, and never sent with a request from another site. */
export function browserCookie(site: CookieSite, value: string): string {
  return `${browserCookieName(site)}=${value}; Path=/; ${isSecure(site) ? 'Secure; ' : ''}HttpOnly; SameSite=Strict`;
}

export function expiredBrowserCookie(site: CookieSite): string {
  return `${browserCookie(site, '')}; Max-Age=0`;
}

/**
 * The cookies of a header (RFC 6265 section 5.4); of equal names the first. Only blanks and tabs are trimmed: `trim()` would also
 * drop U+00A0, and a neighbouring host can set a cookie whose name is U+00A0 followed by `__Host-grantline`.
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
