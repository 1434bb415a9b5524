import { Counter, Gauge, type Registry } from 'prom-client';

/** A counter with these labels. */
export function counter<L extends string>(registry: Registry, name: string, help: string, ...labels: L[]): Counter<L> {
  return new Counter({ name, help, labelNames: labels, registers: [registry] });
}

/** A gauge, by these labels, that keeps its last set value. */
export function gauge<L extends string>(registry: Registry, name: string, help: string, ...labels: L[]): Gauge<L> {
  return new Gauge({ name, help, labelNames: labels, registers: [registry] });
}

/** A gauge whose value is computed at each scrape. */
export function liveGauge(registry: Registry, name: string, help: string, value: () => number | Promise<number>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await value());
    },
  });
}

/** A counter whose value something else keeps. */
export function liveCounter(registry: Registry, name: string, help: string, value: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(value());
    },
  });
}
