import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type FastifyInstance, fastify } from 'fastify';
import type { Registry } from 'prom-client';
import { Refused } from '../../kernel/errors.js';
import { singleFlight } from '../../kernel/single-flight.js';
import type { HealthRegistry } from '../health.js';
import { toProblem } from '../problem.js';
import { AllowedMethods } from './allowed-methods.js';
import { clientErrorHandler } from './client-error-handler.js';
import type { Connections } from './connections.js';
import { exposeHealth } from './health-gauges.js';

/** Milliseconds between two answers of the second port. */
const BEAT = 100;

/**
 * The second port: health and metrics, never public, and so without authentication. Its requests must not be able to slow
 * down the first port: at most ten times a second they are answered, all that wait together, and concurrent ones share an
 * answer.
 */
export function operationsServer(health: HealthRegistry, metrics: Registry, connections: Connections): FastifyInstance {
  const methods = new AllowedMethods();
  const server = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    serverFactory: (answer) => connections.serve(answer),
    clientErrorHandler: clientErrorHandler(methods, connections),
  });
  methods.watch(server);
  const report = singleFlight(() => health.report());
  const text = singleFlight(() => metrics.metrics());
  exposeHealth(metrics, report);
  const beat = beats(BEAT);
  server.addHook('onRequest', () => beat());
  server.setErrorHandler((error, request, reply) => {
    const refused = error instanceof Refused ? error : new Refused('internal_error', { cause: error });
    const problem = toProblem(refused, request.id);
    if (refused.code === 'method_not_allowed') void reply.header('Allow', methods.of(request.url)?.join(', '));
    void reply.status(problem.status).type('application/problem+json; charset=utf-8').send(JSON.stringify(problem));
  });
  server.get('/health/live', () => ({ status: 'up' }));
  server.get('/health/ready', async (_, reply) => {
    const found = await report();
    return reply.status(found.status === 'down' ? 503 : 200).send(found);
  });
  server.get('/metrics', async (_, reply) => reply.type(metrics.contentType).send(await text()));
  return server;
}

/** Resolves at once, or so many milliseconds after it last did. */
function beats(milliseconds: number): () => Promise<void> {
  let last = -Infinity;
  return singleFlight(async () => {
    const wait = last + milliseconds - performance.now();
    if (wait > 0) await delay(wait);
    last = performance.now();
  });
}
