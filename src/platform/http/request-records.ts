import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Refused } from '../../kernel/errors.js';
import type { Log } from '../log/log.js';

const POLLED = 'isPolled';

/** Marks a route that open pages request every few seconds. Its successful answers are logged at level `debug` only. */
export const Polled = (): MethodDecorator => RouteConfig({ [POLLED]: true });

/** Methods that metrics use as labels. Labels come from closed sets, so that clients cannot invent any. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const UNMATCHED = 'unmatched';
const OTHER = 'other';

/** Logs and measures every request of a server once its answer was sent completely or broken off by either side. */
export class RequestRecords {
  private readonly seconds = new Histogram({
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
    registry.registerMetric(this.seconds);
    registry.registerMetric(this.throttledRequests);
  }

  watch(server: FastifyInstance): void {
    server.addHook('onRequest', (request, reply, done) => {
      this.follow(request, reply);
      done();
    });
  }

  /** Records a request that no hook of the server sees. */
  follow(request: FastifyRequest, reply: FastifyReply): void {
    const begun = performance.now();
    reply.raw.once('close', () => this.record(request, reply, performance.now() - begun));
  }

  /** Records an answer to bytes that could not be parsed to a request. Their start is unknown. */
  recordUnparsed(status: number): void {
    this.seconds.observe({ method: OTHER, route: UNMATCHED, status }, 0);
  }

  /** Adds the code and the private reason of a refusal to the request's log line. A quota's name is no secret. */
  noteRefusal(request: FastifyRequest, refused: Refused): void {
    this.refusals.set(request, refused);
    const { quota } = refused.details;
    if (quota !== undefined) this.throttledRequests.inc({ quota: quota.name });
  }

  private record(request: FastifyRequest, { raw, statusCode }: FastifyReply, ms: number): void {
    const { method } = request;
    const route = request.routeOptions.url ?? null; // not the path, which may contain a token
    const isWhole = raw.writableFinished;
    this.seconds.observe(
      {
        method: METHODS.has(method) ? method : OTHER,
        route: route ?? UNMATCHED,
        status: isWhole ? statusCode : 'aborted',
      },
      ms / 1000,
    );
    const refused = this.refusals.get(request);
    const level = isPolled(request) && statusCode < 400 ? 'debug' : 'info';
    this.log[level]('request', {
      request_id: request.id,
      method,
      route,
      status: isWhole || raw.headersSent ? statusCode : null,
      ms: Math.round(ms),
      ...(refused === undefined ? {} : { code: refused.code }),
      ...(refused?.details.reason === undefined ? {} : { reason: refused.details.reason }),
      ...(isWhole ? {} : { aborted: true }),
    });
  }
}

function isPolled({ routeOptions: { config } }: FastifyRequest): boolean {
  return POLLED in config && config[POLLED] === true;
}
