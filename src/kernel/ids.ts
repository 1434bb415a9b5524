import { randomBytes, randomUUID } from 'node:crypto';

/** New identifiers. */
export class IdSource {
  uuid(): string {
    return randomUUID();
  }

  /** Unguessable bytes. */
  bytes(count: number): Buffer {
    return randomBytes(count);
  }

  /** 24 unguessable characters of base64url: 144 random bits. */
  secret(): string {
    return this.bytes(18).toString('base64url');
  }
}

const UUID_PATTERN = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID_PATTERN.test(text);
}

/** Random numbers that need not be unguessable (secrets come from IdSource), injected so that tests can fix them. */
export abstract class Random {
  /** A number from 0 to below 1. */
  abstract fraction(): number;
}

export class SystemRandom extends Random {
  override fraction(): number {
    return Math.random();
  }
}
