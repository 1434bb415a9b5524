/** Random numbers that protect nothing (secrets come from Ids), handed in so that tests can fix them. */
export abstract class Random {
  /** From 0 to below 1. */
  abstract fraction(): number;
}

export class SystemRandom extends Random {
  override fraction(): number {
    return Math.random();
  }
}
