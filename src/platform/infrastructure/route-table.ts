import type { FastifyInstance } from 'fastify';

/** Which methods a path knows, so that a wrong method is told from a wrong path (RFC 9110 section 15.5.6). */
export class RouteTable {
  private readonly routes: { methods: readonly string[]; pattern: RegExp; path: string }[] = [];

  /** Must be called before the first route is added. */
  watch(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      const methods = [route.method].flat();
      this.routes.push({ methods, pattern: patternOf(route.url), path: route.url });
    });
  }

  /** In alphabetical order; empty where no route has that path. */
  methodsOf(url: string): string[] {
    const path = url.split('?', 1)[0] ?? '';
    const found = this.routes.filter((route) => route.pattern.test(path)).flatMap((route) => route.methods);
    return [...new Set(found)].sort();
  }
}

/** Fastify's `/a/:id` and `/a/*` as an expression over paths. */
function patternOf(path: string): RegExp {
  const pieces = path.split('/').map((piece) => {
    if (piece === '*') return '.*';
    return piece.startsWith(':') ? '[^/]+' : piece.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${pieces.join('/')}$`);
}
