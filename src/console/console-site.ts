import type { FastifyInstance, FastifyRequest } from 'fastify';
import { browserCookieIn } from '../auth/domain/browser-cookie.js';
import { Refused } from '../kernel/errors.js';
import type { Settings } from '../platform/settings/settings.js';

/**
 * Refuses requests that a browser sends with our cookie for another origin, GET included. `SameSite=Strict` alone lets those
 * of the same site through, such as of another port or a neighbouring host.
 */
export function refuseOtherSites(server: FastifyInstance, { production, console }: Settings): void {
  if (!console.enabled) return;
  server.addHook('onRequest', (request, _, done) => {
    done(isRefused(request, production) ? new Refused('cross_site') : undefined);
  });
}

function isRefused(request: FastifyRequest, production: boolean): boolean {
  const { headers, routeOptions, protocol, hostname, host } = request;
  if (headers.cookie === undefined || headers.authorization !== undefined) return false;
  if (browserCookieIn(headers.cookie, { production, protocol, hostname }) === null) return false;
  // In production a proxy may end TLS without telling us.
  const own = `${production ? 'https' : protocol}://${host}`;
  const fetchSite = headers['sec-fetch-site']?.toString();
  return !isOpenToOtherSites(routeOptions.url) && !isSameOrigin({ fetchSite, ...headers }, own);
}

/** The origin of a request in the words of the browser. */
interface RequestSource {
  /** `Sec-Fetch-Site` (W3C Fetch Metadata). */
  fetchSite: string | undefined;
  origin?: string | undefined;
  referer?: string | undefined;
}

/**
 * Whether a page of our own origin made the request. `own`: our origin, for browsers that send no Fetch Metadata, as over plain HTTP to
 * another host than this machine; there a GET has no `Origin`, but a `Referer`.
 */
export function isSameOrigin({ fetchSite, origin, referer }: RequestSource, own: string): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  return (origin ?? originOf(referer)) === own;
}

function originOf(referer: string | undefined): string | null {
  return referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : null;
}

/**
 * Whether requests of other sites may carry the cookie: to routes that never read it. Browsers come to those of the identity
 * provider from its site, and to the API's description by a typed address.
 *
 * @param route its pattern, not the path as it was sent, which may spell letters as `%61`; undefined: there is none
 */
export function isOpenToOtherSites(route: string | undefined): boolean {
  return (
    route === undefined ||
    !route.startsWith('/api/') ||
    /^\/api\/(auth\/oidc\/(start|console|callback)|docs(\/.*)?|openapi\.json)$/.test(route)
  );
}
