import type { FastifyInstance, FastifyRequest } from 'fastify';
import { browserCookieIn } from '../auth/domain/browser-cookie.js';
import { Refused } from '../kernel/errors.js';
import type { Settings } from '../platform/settings/settings.js';
import { isOpenToOtherSites, isSameOrigin } from './domain/request-site.js';

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
  // In production a proxy may end TLS without saying so.
  const own = `${production ? 'https' : protocol}://${host}`;
  const source = { fetchSite: oneOf(headers['sec-fetch-site']), origin: headers.origin, referer: headers.referer };
  return !isOpenToOtherSites(routeOptions.url) && !isSameOrigin(source, own);
}

function oneOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join() : header;
}
