/** The present moment, handed in wherever time matters, so that tests can stand still or step forward. */
export abstract class Clock {
  abstract now(): Date;
}

export class SystemClock extends Clock {
  override now(): Date {
    return new Date();
  }
}
