import type { GrantlineProcess } from '../../support/service/grantline-process.js';
import type { Around } from './around.js';

export type Moment = 'before' | 'after';

/** Kills a process at one of its steps: before the step reaches the server, or when the server has answered it. */
export class KillPoint {
  readonly steps: string[] = [];
  victim: GrantlineProcess | undefined;
  private hasKilled = false;

  /** @param step counted from 0, of those that count */
  constructor(
    private readonly step: number,
    private readonly moment: Moment,
    private readonly counts: (step: string) => boolean,
  ) {}

  readonly around: Around = async (step, forward) => {
    if (this.hasKilled) throw new Error('the process is dead');
    if (!this.counts(step)) return forward();
    const number = this.steps.push(step.split(/\s+/).slice(0, 3).join(' ')) - 1;
    if (number === this.step && this.moment === 'before') await this.kill();
    await forward();
    if (number === this.step) await this.kill();
  };

  private async kill(): Promise<never> {
    this.hasKilled = true;
    this.victim?.signal('SIGKILL');
    await this.victim?.finished;
    throw new Error('the process was killed');
  }
}
