import { TestClock } from '../../support/fakes/test-clock.js';

/** The time of this machine, as the provider's tokens have it, and how far a spec is beyond it. */
export class AdvancedClock extends TestClock {
  private seconds = 0;

  override now(): Date {
    return new Date(Date.now() + this.seconds * 1000);
  }

  override advance(seconds: number): void {
    this.seconds += seconds;
  }
}
