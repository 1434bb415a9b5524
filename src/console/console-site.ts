import type { FastifyInstance, FastifyRequest } from 'fastify';
import { browserCookieIn } from '../auth/domain/browser-cookie.js';
import { Refused } from '../kernel/errors.js';
import type { Settings } from '../platform/settings/settings.js';

/**
 * Refuses requests, GET included, that a page of another origin makes with the cookie of our session. `SameSite=Strict` alone would allow pages of the
 * same site, such as of another port or a neighbouring host.
 */
export function refuseOtherSites(server: FastifyInstance, { isProduction, console }: Settings): void {
  if (!console.enabled) return;
  server.addHook('onRequest', (request, _, done) => {
    done(isCrossSite(request, isProduction) ? new Refused('cross_site') : undefined);
  });
}

function isCrossSite(request: FastifyRequest, isProduction: boolean): boolean {
  const { headers, routeOptions, protocol, hostname, host } = request;
  if (headers.cookie === undefined || headers.authorization !== undefined) return false;
  if (browserCookieIn(headers.cookie, { isProduction, protocol, hostname }) === null) return false;
  // In production the own origin is always https, because a proxy may end TLS without a header that says so.
  const ownOrigin = `${isProduction ? 'https' : protocol}://${host}`;
  const fetchSite = headers['sec-fetch-site']?.toString();
  return !isOpenToOtherSites(routeOptions.url) && !isSameOrigin({ fetchSite, ...headers }, ownOrigin);
}

/** The headers that show which page sent a request. */
interface RequestSource {
  /** `Sec-Fetch-Site` (W3C Fetch Metadata). */
  fetchSite: string | undefined;
  origin?: string | undefined;
  referer?: string | undefined;
}

/** Whether a page of our own origin made the request. Over plain HTTP, browsers often send no Fetch Metadata; `Origin` or `Referer` is then compared. */
export function isSameOrigin({ fetchSite, origin, referer }: RequestSource, ownOrigin: string): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  const refererOrigin = referer !== undefined && URL.canParse(referer) ? new URL(referer).origin : null;
  return (origin ?? refererOrigin) === ownOrigin;
}

/**
 * Whether other sites may send requests to a route, because the route never reads the cookie. For example, the identity provider redirects
 * browsers to the routes of its sign-in.
 * @param route the route's pattern, not the request's path, which may spell letters as `%61`; undefined: no route matches
 */
export function isOpenToOtherSites(route: string | undefined): boolean {
  return (
    route === undefined ||
    !route.startsWith('/api/') ||
    /^\/api\/(auth\/oidc\/(start|console|callback)|docs(\/.*)?|openapi\.json)$/.test(route)
  );
}
