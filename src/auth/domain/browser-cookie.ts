/** The facts that decide the name and flags of the browser session's cookie. */
export interface CookieSite {
  isProduction: boolean;
  protocol: string;
  /** The host of the request, without the port. */
  hostname: string;
}

/** Whether the cookie is named `__Host-` and marked `Secure`. Over plain HTTP, browsers accept such cookies from loopback only. */
function isSecure({ isProduction, protocol, hostname }: CookieSite): boolean {
  return isProduction || protocol === 'https' || hostname === 'localhost' || hostname === '127.0.0.1';
}

export function browserCookieName(site: CookieSite): string {
  return isSecure(site) ? '__Host-grantline' : 'grantline';
}

/** Bytes of the session's secret in a cookie, before its base64url encoding. */
export const COOKIE_BYTES = 32;

/** Whether a text has the form of a session's secret. Other texts are refused without a query. */
export function hasCookieForm(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}

/** The session's secret in a `Cookie` header; null: there is none. */
export function browserCookieIn(header: string | undefined, site: CookieSite): string | null {
  return cookiesOf(header).get(browserCookieName(site)) ?? null;
}

/** The `Set-Cookie` header: for this host only, not for scripts, and never sent with a request from another site. */
export function browserCookieHeader(site: CookieSite, value: string): string {
  return `${browserCookieName(site)}=${value}; Path=/; ${isSecure(site) ? 'Secure; ' : ''}HttpOnly; SameSite=Strict`;
}

export function expiredCookieHeader(site: CookieSite): string {
  return `${browserCookieHeader(site, '')}; Max-Age=0`;
}

/**
 * The cookies of a header (RFC 6265 section 5.4). The first of equal names wins. Only blanks and tabs are trimmed: `trim()` would also
 * drop U+00A0, and a neighbouring host can set a cookie whose name is U+00A0 followed by `__Host-grantline`.
 */
export function cookiesOf(header: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of (header ?? '').replace(/[\v\f\u00a0]/g, '\ufffd').split(';')) {
    const equalsIndex = pair.indexOf('=');
    const name = pair.slice(0, equalsIndex).trim();
    if (equalsIndex > 0 && !cookies.has(name)) cookies.set(name, pair.slice(equalsIndex + 1).trim());
  }
  return cookies;
}
