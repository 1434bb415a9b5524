import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';

/** The methods of each path, so that a wrong method gets 405 and an unknown path gets 404 (RFC 9110 section 15.5.6). */
export class AllowedMethods {
  private readonly routes: { methods: readonly string[]; pattern: RegExp; path: string }[] = [];

  /** Refuses requests that match no route. Must be called before the first route is added. */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      if (route.url === '*') return; // the preflight route of @fastify/cors matches every path
      const methods = [route.method].flat();
      this.routes.push({ methods, pattern: patternOf(route.url), path: route.url });
    });
    // preParsing comes after onRequest, which sets the headers of every answer, and before the body is read.
    server.addHook('preParsing', (request, _, __, done) => {
      done(this.isAllowed(request) ? null : this.refusalOf(request.url));
    });
  }

  /** The refusal of a request for this address: 404 for an unknown path, 405 for a known path. */
  refusalOf(url: string): Refused {
    return new Refused(this.methodsOf(url) === null ? 'not_found' : 'method_not_allowed');
  }

  /**
   * The methods of a path in alphabetical order, for `Allow`; null: no route has the path. A literal path takes precedence over a
   * parameter: `GET /grants/batch` is a wrong method, not the grant `batch`.
   */
  methodsOf(url: string): string[] | null {
    const path = pathOf(url);
    const exactRoutes = this.routes.filter((route) => route.path === path);
    const routes = exactRoutes.length > 0 ? exactRoutes : this.routes.filter((route) => route.pattern.test(path));
    if (routes.length === 0) return null;
    return [...new Set(routes.flatMap(({ methods }) => (refusesAllMethods(methods) ? [] : methods)))].sort();
  }

  private isAllowed({ is404, routeOptions, url }: FastifyRequest): boolean {
    if (is404) return false;
    const { method, url: route } = routeOptions;
    if (Array.isArray(method) && refusesAllMethods(method)) return false;
    if (route === url) return true;
    const path = pathOf(url);
    return route === path || !this.routes.some((registeredRoute) => registeredRoute.path === path);
  }
}

/** Whether a route refuses every request. Only such a route is registered for more than two methods. */
function refusesAllMethods(methods: readonly unknown[]): boolean {
  return methods.length > 2;
}

/** The path of a request's target. The target may be a whole URL (RFC 9112 section 3.2.2). */
function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '';
}

/** A path in Fastify's form, such as `/a/:id` or `/a/*`, as a regular expression. */
function patternOf(path: string): RegExp {
  const pieces = path.split('/').map((piece) => {
    if (piece === '*') return '.*';
    return piece.startsWith(':') ? '[^/]+' : piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${pieces.join('/')}$`);
}
