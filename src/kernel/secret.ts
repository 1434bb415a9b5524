import { hash } from 'node:crypto';

/** node:util's `inspect.custom`. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** A text that no log, error or JSON shows by accident: only `reveal` returns it. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [INSPECT](): string {
    return '[secret]';
  }
}

/**
 * For classes that hold secrets, tokens or nextUris: inspect and JSON show the name of the class and nothing else.
 */
export function Opaque(target: { readonly name: string; readonly prototype: object }): void {
  const show = { value: () => `[${target.name}]`, configurable: true };
  Object.defineProperties(target.prototype, { [INSPECT]: show, toJSON: show });
}

/** What is kept of a secret that nobody can guess, so that a copy of the database or of the memory shows none: its SHA-256. */
export function secretDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
