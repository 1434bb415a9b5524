import { randomUUID } from 'node:crypto';

/** Fresh identifiers, handed in so that tests can know them beforehand. */
export abstract class Ids {
  abstract uuid(): string;
}

export class RandomIds extends Ids {
  override uuid(): string {
    return randomUUID();
  }
}
