import { randomBytes, randomUUID } from 'node:crypto';

/** Fresh identifiers, handed in so that tests can know them beforehand. */
export abstract class Ids {
  abstract uuid(): string;
  /** 24 characters of base64url that nobody can guess: 144 random bits. */
  abstract secret(): string;
}

export class RandomIds extends Ids {
  override uuid(): string {
    return randomUUID();
  }

  override secret(): string {
    return randomBytes(18).toString('base64url');
  }
}
