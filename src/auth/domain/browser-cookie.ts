import { cookiesOf } from '../../kernel/cookies.js';

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
