import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Refused } from '../../kernel/errors.js';
import type { Log } from '../log/log.js';

const POLLED = 'isPolled';

/** Marks a route that open pages request by themselves: no use of a browser's session. Its successful answers are logged at level `debug` only. */
export const Polled = (): MethodDecorator => RouteConfig({ [POLLED]: true });

export const isPolled = ({ routeOptions }: FastifyRequest): boolean => POLLED in routeOptions.config;

/** Methods that metrics use as labels. Other methods count as OTHER_METHOD, so that clients cannot create labels. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const UNMATCHED_ROUTE = 'unmatched';
const OTHER_METHOD = 'other';

/** Logs and measures every request of a server when its answer ends: sent completely, or broken off by either side. */
export class RequestRecords {
  private readonly durationHistogram = new Histogram({
    name: 'grantline_http_request_duration_seconds',
    help: 'Requests until their answers ended, by `method`, `route` (`unmatched`: none) and `status` (`aborted`: broken off); no HTTP: 0 s.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers: [],
  });

  private readonly throttledRequests = new Counter({
    name: 'grantline_throttled_requests_total',
    help: 'Requests answered with 429, by `quota`: `login-name`, `login-address`, `registration`, `running-queries`, `previews`, …',
    labelNames: ['quota'],
    registers: [],
  });

  private readonly refusals = new WeakMap<FastifyRequest, Refused>();

  constructor(private readonly log: Log) {}

  exposeIn(registry: Registry): void {
    registry.registerMetric(this.durationHistogram);
    registry.registerMetric(this.throttledRequests);
  }

  watch(server: FastifyInstance): void {
    server.addHook('onRequest', (request, reply, done) => {
      this.track(request, reply);
      done();
    });
  }

  /** Records a request when its answer ends. */
  track(request: FastifyRequest, reply: FastifyReply): void {
    const startedAt = performance.now();
    reply.raw.once('close', () => this.record(request, reply, performance.now() - startedAt));
  }

  /** Records an answer to bytes that could not be parsed as a request, with a duration of 0, because the start is unknown. */
  recordUnparsedRequest(status: number): void {
    this.durationHistogram.observe({ method: OTHER_METHOD, route: UNMATCHED_ROUTE, status }, 0);
  }

  /** Adds the code and the private reason of a refusal to the request's log line, and counts throttled requests by quota. */
  recordRefusal(request: FastifyRequest, refusal: Refused): void {
    this.refusals.set(request, refusal);
    const { quota } = refusal.details;
    if (quota !== undefined) this.throttledRequests.inc({ quota: quota.name });
  }

  private record(request: FastifyRequest, { raw, statusCode }: FastifyReply, durationMs: number): void {
    const { method } = request;
    const route = request.routeOptions.url ?? null; // not the path, which may contain a token
    const isFullySent = raw.writableFinished;
    this.durationHistogram.observe(
      {
        method: METHODS.has(method) ? method : OTHER_METHOD,
        route: route ?? UNMATCHED_ROUTE,
        status: isFullySent ? statusCode : 'aborted',
      },
      durationMs / 1000,
    );
    const refusal = this.refusals.get(request);
    const logLevel = isPolled(request) && statusCode < 400 ? 'debug' : 'info';
    this.log[logLevel]('request', {
      request_id: request.id,
      method,
      route,
      status: isFullySent || raw.headersSent ? statusCode : null,
      ms: Math.round(durationMs),
      ...(refusal === undefined ? {} : { code: refusal.code }),
      ...(refusal?.details.reason === undefined ? {} : { reason: refusal.details.reason }),
      ...(isFullySent ? {} : { aborted: true }),
    });
  }
}
