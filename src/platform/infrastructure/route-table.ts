import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';

interface Route {
  methods: readonly string[];
  pattern: RegExp;
  path: string;
}

/** Which methods a path knows, so that a wrong method is told from a wrong path (RFC 9110 section 15.5.6). */
export class RouteTable {
  private readonly routes: Route[] = [];

  /** Must be called before the first route is added. From then on only paths and methods of routes come through. */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      if (route.url === '*') return; // the one that @fastify/cors answers preflights with: it makes no path known
      const methods = [route.method].flat();
      this.routes.push({ methods, pattern: patternOf(route.url), path: route.url });
    });
    // Not onRequest: the headers that every answer carries are set there. The body is judged after this.
    server.addHook('preParsing', (request, _, __, done) => {
      done(this.isServed(request) ? null : this.refusal(request.url));
    });
  }

  /** What to say of a path, or of a method that it does not know. */
  refusal(url: string): Refused {
    return new Refused(this.methodsOf(url) === null ? 'not_found' : 'method_not_allowed');
  }

  /**
   * In alphabetical order, for `Allow`; null where no route has that path. A path that is named in full is never read as an
   * id: `GET /grants/batch` is a wrong method, not the grant `batch`. A route for all methods is there to refuse them: none.
   */
  methodsOf(url: string): string[] | null {
    const path = pathOf(url);
    const named = this.routes.filter((route) => route.path === path);
    const found = named.length > 0 ? named : this.routes.filter((route) => route.pattern.test(path));
    if (found.length === 0) return null;
    return [...new Set(found.flatMap(({ methods }) => (refusesAll(methods) ? [] : methods)))].sort();
  }

  private isServed({ is404, routeOptions, url }: FastifyRequest): boolean {
    if (is404) return false;
    if (refusesAll([routeOptions.method].flat())) return false;
    const path = pathOf(url);
    return routeOptions.url === path || !this.routes.some((route) => route.path === path);
  }
}

/** A route has one method, or GET with HEAD. */
function refusesAll(methods: readonly unknown[]): boolean {
  return methods.length > 2;
}

/** Also of an absolute target (RFC 9112 section 3.2.2). */
function pathOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/i, '').split(/[?#]/, 1)[0] ?? '';
}

/** Fastify's `/a/:id` and `/a/*` as an expression over paths. */
function patternOf(path: string): RegExp {
  const pieces = path.split('/').map((piece) => {
    if (piece === '*') return '.*';
    return piece.startsWith(':') ? '[^/]+' : piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${pieces.join('/')}$`);
}
