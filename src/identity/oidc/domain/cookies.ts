/** Sign-ins that one browser can have under way, such as in several tabs. */
const MOST = 5;

const PREFIX = '__Host-grantline-oidc-';

/** The cookie of one sign-in. Each has its own, so that a second tab does not break the first. */
export function cookieName(state: string): string {
  return PREFIX + state.slice(0, 8);
}

/** Cookies of sign-ins that give way to a new one: the browser sends the older ones first. */
export function surplusCookies(cookies: ReadonlyMap<string, string>): string[] {
  const ours = [...cookies.keys()].filter((name) => name.startsWith(PREFIX));
  return ours.slice(0, Math.max(0, ours.length - MOST + 1));
}

/** Only this host, only by https (or loopback), not for scripts; sent when the provider sends the browser back. */
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax';

export function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Max-Age=${seconds}; ${ATTRIBUTES}`;
}

export function clearCookie(name: string): string {
  return setCookie(name, '', 0);
}
