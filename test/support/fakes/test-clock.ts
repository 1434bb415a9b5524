import { Clock } from '../../../src/kernel/clock.js';

/** A clock that only a test advances. */
export class TestClock extends Clock {
  constructor(private instant = new Date('2026-11-20T12:00:00.000Z')) {
    super();
  }

  override now(): Date {
    return new Date(this.instant);
  }

  advance(seconds: number): void {
    this.instant = new Date(this.instant.getTime() + seconds * 1000);
  }
}
