import { type Context, type Span, type SpanOptions, trace, type Tracer } from '@opentelemetry/api';

export interface SeenSpan {
  name: string;
  traceId: string;
  spanId: string;
  /** Null: of the span that began the trace. */
  parentId: string | null;
  attributes: Record<string, unknown>;
  isEnded: boolean;
}

/** A tracer in memory, as an SDK brings one; until `trace.disable()`. */
export function recordSpans(): SeenSpan[] {
  const seen: SeenSpan[] = [];
  const startSpan = (name: string, { root = false, attributes = {} }: SpanOptions, context: Context): Span => {
    const parent = root ? undefined : trace.getSpanContext(context);
    const hex = (seen.length + 1).toString(16);
    const ids = { traceId: parent?.traceId ?? hex.padStart(32, 'b'), spanId: hex.padStart(16, 'a') };
    const record = { name, ...ids, parentId: parent?.spanId ?? null, attributes: { ...attributes }, isEnded: false };
    seen.push(record);
    const span: Span = Object.assign(trace.wrapSpanContext({ ...ids, traceFlags: 1 }), {
      setAttribute: (key: string, value: unknown): Span => {
        Object.assign(record.attributes, { [key]: value });
        return span;
      },
      end: () => void (record.isEnded = true),
    });
    return span;
  };
  trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan }) as Tracer });
  return seen;
}
