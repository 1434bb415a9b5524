import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  context,
  type ContextManager,
  createContextKey,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapPropagator,
  type TextMapSetter,
  trace,
} from '@opentelemetry/api';
import type { FastifyInstance } from 'fastify';
import { VERSION } from './version.js';

/** Matches https://www.w3.org/TR/trace-context/#traceparent-header. Versions after 00 may append fields. */
const TRACEPARENT = /^(?!ff|00-.{52}.)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;
const TRACESTATE = createContextKey('tracestate');

/** Passes a request's `traceparent` and `tracestate` on unchanged. Without an SDK the API itself propagates nothing. */
class TraceContextHeaders implements TextMapPropagator {
  fields(): string[] {
    return ['traceparent', 'tracestate'];
  }

  inject<Carrier>(from: Context, carrier: Carrier, setter: TextMapSetter<Carrier>): void {
    const span = trace.getSpanContext(from);
    if (!isTraced(from) || span === undefined) return;
    const flags = span.traceFlags.toString(16).padStart(2, '0');
    setter.set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-${flags}`);
    const state = from.getValue(TRACESTATE);
    if (typeof state === 'string') setter.set(carrier, 'tracestate', state);
  }

  extract<Carrier>(into: Context, carrier: Carrier, getter: TextMapGetter<Carrier>): Context {
    const [, traceId, spanId, flags] = TRACEPARENT.exec(String(getter.get(carrier, 'traceparent'))) ?? [];
    if (traceId === undefined || spanId === undefined || flags === undefined) return into;
    const parent = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
    return trace.setSpanContext(into.setValue(TRACESTATE, getter.get(carrier, 'tracestate')), parent);
  }
}

class AsyncContexts implements ContextManager {
  private readonly current = new AsyncLocalStorage<Context>();

  readonly active = (): Context => this.current.getStore() ?? ROOT_CONTEXT;

  /** Runs work without a trace directly, because before Node 24 any use of AsyncLocalStorage slows everything down (see DatabaseSession). */
  readonly with: ContextManager['with'] = (next, work, self, ...given) => {
    const run = () => work.apply(self, given);
    return isTraced(next) || this.current.getStore() !== undefined ? this.current.run(next, run) : run();
  };

  /** Only listeners of libraries with an SDK use it. */
  readonly bind: ContextManager['bind'] = (_, target) => target;
  readonly enable = (): this => this;
  readonly disable = (): this => this;
}

function isTraced(of: Context): boolean {
  const span = trace.getSpanContext(of);
  return span !== undefined && isSpanContextValid(span);
}

/** Continues the trace that a request belongs to, with a span for the request. Must be called before the first hook is added. */
export function traceRequests(server: FastifyInstance): void {
  const probe = ROOT_CONTEXT.setValue(Symbol('probe'), true);
  const hasSdk = context.with(probe, () => context.active()) === probe;
  if (!hasSdk) {
    context.setGlobalContextManager(new AsyncContexts());
    propagation.setGlobalPropagator(new TraceContextHeaders());
  }
  server.addHook('onRequest', ({ method, headers, routeOptions: { url: route } }, { raw }, done) => {
    const active = context.active();
    const parent = isTraced(active) ? active : propagation.extract(active, headers);
    const attributes = { 'http.request.method': method, ...(route !== undefined && { 'http.route': route }) };
    const span = tracer().startSpan(`${method} ${route ?? ''}`.trim(), { kind: SpanKind.SERVER, attributes }, parent);
    raw.once('close', () => {
      span.setAttribute('http.response.status_code', raw.statusCode);
      if (raw.statusCode >= 500 || !raw.writableFinished) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    });
    context.with(trace.setSpan(parent, span), done);
  });
}

/** Runs work within a span. Records only the name of an error, because its message may be private. */
export async function inSpan<T>(name: string, work: (span: Span) => Promise<T>, options?: SpanOptions): Promise<T> {
  const span = startSpan(name, options);
  try {
    return await context.with(trace.setSpan(context.active(), span), () => work(span));
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', error instanceof Error ? error.name : '');
    throw error;
  } finally {
    span.end();
  }
}

/** A span that the caller ends. */
export function startSpan(name: string, options: SpanOptions = {}): Span {
  return tracer().startSpan(name, options, context.active());
}

const tracer = () => trace.getTracer('grantline', VERSION);
