import { setTimeout as pause } from 'node:timers/promises';

/** Seconds between two scrapes. */
export const SCRAPE_SECONDS = 5;

const SAMPLE = /^((?:grantline_|process_start_time_seconds)\w*)(?:\{(.*)\})? (\S+)$/gm;

/** Keeps what `/metrics` shows, every five seconds, in the form in which promtool reads series. */
export class Scraper {
  private readonly stopping = new AbortController();
  private readonly samples: Map<string, string>[] = [];
  private readonly done: Promise<void>;
  /** Of the first scrape. */
  readonly startedAt = new Date();

  constructor(private readonly operations: string) {
    this.done = this.run();
  }

  /** The newest value of a series, as `grantline_degraded{part="engine"}`. */
  latest(series: string): number {
    return Number(this.samples.at(-1)?.get(series));
  }

  /** Seconds since the first scrape. */
  get seconds(): number {
    return (Date.now() - this.startedAt.getTime()) / 1000;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.done;
  }

  /** All series; the last sample is held for so many seconds more. */
  series(heldSeconds: number): Record<string, string> {
    const names = new Set(this.samples.flatMap((sample) => [...sample.keys()]));
    const held = Math.ceil(heldSeconds / SCRAPE_SECONDS);
    return Object.fromEntries(
      Array.from(names, (name) => {
        const values = this.samples.map((sample) => sample.get(name) ?? '_');
        const last = values.at(-1) ?? '_';
        return [name, [...values, ...Array<string>(held).fill(last)].join(' ')];
      }),
    );
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      this.samples.push(await this.scrape());
      const next = this.startedAt.getTime() + this.samples.length * SCRAPE_SECONDS * 1000;
      await pause(Math.max(0, next - Date.now()), undefined, { signal }).catch(() => undefined);
    }
  }

  private async scrape(): Promise<Map<string, string>> {
    const pod = 'pod="a"';
    try {
      const answer = await fetch(`${this.operations}/metrics`, { signal: AbortSignal.timeout(SCRAPE_SECONDS * 1000) });
      const found = Array.from(
        (await answer.text()).matchAll(SAMPLE),
        ([, name = '', labels, value = '']): [string, string] => [
          labels === undefined ? name : `${name}{${labels}}`,
          value === 'Nan' ? 'NaN' : value,
        ],
      );
      return new Map([[`up{${pod}}`, '1'], ...found]);
    } catch {
      return new Map([[`up{${pod}}`, '0']]);
    }
  }
}
