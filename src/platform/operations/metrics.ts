import { Counter, Gauge, type Registry } from 'prom-client';

/** A counter of the service, by these labels. */
export function counter<L extends string>(registry: Registry, name: string, help: string, ...labels: L[]): Counter<L> {
  return new Counter({ name, help, labelNames: labels, registers: [registry] });
}

/** A gauge that keeps what it was last set to. */
export function gauge(registry: Registry, name: string, help: string): Gauge {
  return new Gauge({ name, help, registers: [registry] });
}

/** A gauge whose value is asked for at each scrape. */
export function gaugeOf(registry: Registry, name: string, help: string, value: () => number | Promise<number>): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await value());
    },
  });
}

/** A counter that something else keeps. */
export function counterOf(registry: Registry, name: string, help: string, value: () => number): void {
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
