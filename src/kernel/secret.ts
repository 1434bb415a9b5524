import { hash } from 'node:crypto';

/** The method by which `inspect` and the console print an object: node:util's `inspect.custom`. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** A text that logs, errors and JSON do not show: only `reveal` returns it. */
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

/** Decorator for classes with secrets, tokens or nextUris: inspect and JSON show only the name of the class. */
export function Opaque(target: { readonly name: string; readonly prototype: object }): void {
  const descriptor = { value: () => `[${target.name}]`, configurable: true };
  Object.defineProperties(target.prototype, { [INSPECT]: descriptor, toJSON: descriptor });
}

/** SHA-256 of an unguessable secret, which is stored instead of the secret. */
export function secretDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
