import { Counter, Gauge, type Registry } from 'prom-client';

export function counter<L extends string>(registry: Registry, name: string, help: string, ...labels: L[]): Counter<L> {
  return new Counter({ name, help, labelNames: labels, registers: [registry] });
}

/** Makes a gauge with these labels. It keeps the value that was set last. */
export function gauge<L extends string>(registry: Registry, name: string, help: string, ...labels: L[]): Gauge<L> {
  return new Gauge({ name, help, labelNames: labels, registers: [registry] });
}

/** Registers a gauge whose value is computed at each scrape. */
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

/** Registers a counter that is set to `value()` at each scrape. */
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
