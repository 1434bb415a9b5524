import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { type FastifyInstance, fastify } from 'fastify';
import { Gauge, type Registry } from 'prom-client';
import { Refused } from '../../kernel/errors.js';
import { singleFlight } from '../../kernel/single-flight.js';
import type { HealthRegistry, HealthReport } from '../health.js';
import { gaugeOf } from '../metrics.js';
import { toProblem } from '../problem.js';
import { VERSION } from '../version.js';
import { AllowedMethods } from './allowed-methods.js';
import { clientErrorHandler } from './client-error-handler.js';
import type { Connections } from './connections.js';
import { readParameters, refuseManyParameters } from './parameters.js';

/** Milliseconds between two answers of the second port. */
const BEAT = 100;

/**
 * The second port: health and metrics, never public, and so without authentication. Its requests must not be able to slow
 * down the first port: at most ten times a second they are answered, all that wait together; they share what is answered, and
 * each is sent in a turn of the event loop of its own.
 */
export function operationsServer(health: HealthRegistry, metrics: Registry, connections: Connections): FastifyInstance {
  const methods = new AllowedMethods();
  const server = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    serverFactory: (answer) => connections.serve(answer),
    clientErrorHandler: clientErrorHandler(methods, connections),
    routerOptions: { querystringParser: readParameters },
  });
  methods.watch(server);
  refuseManyParameters(server);
  const beat = new Beat(BEAT);
  const report = singleFlight(() => health.report());
  exposeHealth(metrics, report);
  exposeVersion(metrics);
  const readiness = beat.once(report);
  const text = beat.once(async () => Buffer.from(await metrics.metrics()));
  server.addHook('onRequest', () => beat.next());
  server.setErrorHandler((error, request, reply) => {
    const refused = error instanceof Refused ? error : new Refused('internal_error', { cause: error });
    const problem = toProblem(refused, request.id);
    if (refused.code === 'method_not_allowed') void reply.header('Allow', methods.of(request.url)?.join(', '));
    void reply.status(problem.status).type('application/problem+json; charset=utf-8').send(JSON.stringify(problem));
  });
  server.get('/health/live', () => ({ status: 'up' }));
  server.get('/health/ready', async (_, reply) => {
    const found = await readiness();
    return reply.status(found.status === 'down' ? 503 : 200).send(found);
  });
  server.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await text()));
  return server;
}

/** Shows in the metrics what `/health/ready` answers, asked anew for each scrape: alerts cannot see probes. */
function exposeHealth(registry: Registry, report: () => Promise<HealthReport>): void {
  const ready = 'Whether this replica takes requests (1), or a part that it needs is down (0).';
  gaugeOf(registry, 'grantline_ready', ready, async () => ((await report()).status === 'down' ? 0 : 1));
  new Gauge({
    name: 'grantline_degraded',
    help: 'Whether a part of this replica or a neighbour that it needs is degraded or down (1), or well (0).',
    labelNames: ['part'],
    registers: [registry],
    async collect() {
      for (const [part, health] of Object.entries((await report()).parts)) this.set({ part }, health === 'up' ? 0 : 1);
    },
  });
}

/** What runs where, by the field's custom: the value is always 1. */
function exposeVersion(registry: Registry): void {
  const help = 'The version of this replica and of its Node.';
  const build = new Gauge({
    ...{ name: 'grantline_build_info', help },
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  build.set({ version: VERSION, node: process.versions.node }, 1);
}

class Beat {
  private count = 0;
  private last = -Infinity;
  private line = Promise.resolve();

  constructor(private readonly milliseconds: number) {}

  /** Resolves at once, or so many milliseconds after it last did; for those that waited one after the other. */
  async next(): Promise<void> {
    await this.come();
    this.line = this.line.then(() => nextTurn());
    await this.line;
  }

  /** What is made once in a beat. */
  once<T>(make: () => Promise<T>): () => Promise<T> {
    let made: { count: number; result: Promise<T> } | null = null;
    return () => {
      if (made?.count !== this.count) made = { count: this.count, result: make() };
      return made.result;
    };
  }

  private readonly come = singleFlight(async () => {
    const wait = this.last + this.milliseconds - performance.now();
    if (wait > 0) await delay(wait);
    this.last = performance.now();
    this.count += 1;
  });
}
