import { type Answered, closedLoop } from './http-load.js';
import type { MeasuredProcess } from './measured-process.js';
import { median, medianRatio, type Ratio } from './ratio.js';

/** The bytes of the next request of a connection; `last`: what its latest was answered, null before its first. */
export type NextRequest = (connection: number, last: Answered | null) => string;

/** A server under one load, measured in turns with others: requests per second, and processor time for each. */
export class MeasuredSide {
  readonly perSecond: number[] = [];
  /** Microseconds for one request, of all threads of the server. */
  private readonly cpu: number[] = [];

  constructor(
    private readonly server: MeasuredProcess,
    private readonly next: NextRequest,
    private readonly connections: number,
  ) {}

  /** @param counts false: it only warms up */
  async turn(seconds: number, counts: boolean): Promise<void> {
    const before = this.server.cpuSeconds();
    const end = performance.now() + seconds * 1000;
    const answered = await closedLoop(this.server.port, this.connections, (connection, last) => {
      if (last !== null && last.status !== 200) throw new Error(`${last.status} ${last.body}`);
      const request = this.next(connection, last);
      return performance.now() < end ? request : null;
    });
    if (!counts) return;
    this.perSecond.push(answered.count / answered.seconds);
    this.cpu.push(((this.server.cpuSeconds() - before) / answered.count) * 1e6);
  }

  /** Requests per second and processor time for each as ratios, `what` being ours against theirs. */
  against(theirs: MeasuredSide, what: (measured: string) => string): [perSecond: Ratio, cpu: Ratio] {
    return [
      {
        what: what('requests per second'),
        ratio: medianRatio(this.perSecond, theirs.perSecond),
        target: null,
        figures: `${median(this.perSecond).toFixed(0)}/s, ${median(theirs.perSecond).toFixed(0)}/s`,
      },
      {
        what: what('processor time per request'),
        ratio: medianRatio(this.cpu, theirs.cpu),
        target: null,
        figures: `${median(this.cpu).toFixed(0)} µs, ${median(theirs.cpu).toFixed(0)} µs`,
      },
    ];
  }
}
