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

/** Matches the header of https://www.w3.org/TR/trace-context/#traceparent-header. Versions after 00 may append fields. */
const TRACEPARENT = /^(?!ff|00-.{52}.)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-.*)?$/;
const TRACESTATE_KEY = createContextKey('tracestate');

/** Passes a request's `traceparent` and `tracestate` on unchanged. Without an SDK, OpenTelemetry's API would drop both. */
class TraceContextHeaders implements TextMapPropagator {
  fields(): string[] {
    return ['traceparent', 'tracestate'];
  }

  inject<Carrier>(sourceContext: Context, carrier: Carrier, setter: TextMapSetter<Carrier>): void {
    const span = trace.getSpanContext(sourceContext);
    if (!isTraced(sourceContext) || span === undefined) return;
    const flags = span.traceFlags.toString(16).padStart(2, '0');
    setter.set(carrier, 'traceparent', `00-${span.traceId}-${span.spanId}-${flags}`);
    const tracestate = sourceContext.getValue(TRACESTATE_KEY);
    if (typeof tracestate === 'string') setter.set(carrier, 'tracestate', tracestate);
  }

  extract<Carrier>(targetContext: Context, carrier: Carrier, getter: TextMapGetter<Carrier>): Context {
    const [, traceId, spanId, flags] = TRACEPARENT.exec(String(getter.get(carrier, 'traceparent'))) ?? [];
    if (traceId === undefined || spanId === undefined || flags === undefined) return targetContext;
    const parentSpan = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
    return trace.setSpanContext(targetContext.setValue(TRACESTATE_KEY, getter.get(carrier, 'tracestate')), parentSpan);
  }
}

class AsyncContexts implements ContextManager {
  private readonly storage = new AsyncLocalStorage<Context>();

  readonly active = (): Context => this.storage.getStore() ?? ROOT_CONTEXT;

  /** Runs work. Uses AsyncLocalStorage only for work with a trace, because before Node 24 any use of it slows everything down. */
  readonly with: ContextManager['with'] = (target, work, self, ...args) => {
    const run = () => work.apply(self, args);
    return isTraced(target) || this.storage.getStore() !== undefined ? this.storage.run(target, run) : run();
  };

  /** Need not bind: only libraries of an OpenTelemetry SDK call `bind`, and with an SDK this class is not used. */
  readonly bind: ContextManager['bind'] = (_, target) => target;
  readonly enable = (): this => this;
  readonly disable = (): this => this;
}

function isTraced(traceContext: Context): boolean {
  const span = trace.getSpanContext(traceContext);
  return span !== undefined && isSpanContextValid(span);
}

/** Makes a span for each request, in the trace that the request belongs to. Must be called before the first hook is added. */
export function traceRequests(server: FastifyInstance): void {
  const probeContext = ROOT_CONTEXT.setValue(Symbol('probe'), true);
  const hasSdk = context.with(probeContext, () => context.active()) === probeContext;
  if (!hasSdk) {
    context.setGlobalContextManager(new AsyncContexts());
    propagation.setGlobalPropagator(new TraceContextHeaders());
  }
  server.addHook('onRequest', ({ method, headers, routeOptions: { url: route } }, { raw }, done) => {
    const activeContext = context.active();
    const parent = isTraced(activeContext) ? activeContext : propagation.extract(activeContext, headers);
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

export function startSpan(name: string, options: SpanOptions = {}): Span {
  return tracer().startSpan(name, options, context.active());
}

const tracer = () => trace.getTracer('grantline', VERSION);
