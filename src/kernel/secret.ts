/** node:util's `inspect.custom`. */
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/** A text that no log, error or JSON shows by accident: it leaves by `reveal` alone. */
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
 * Of a class that holds secrets, tokens or nextUris, whatever its fields are: inspect and JSON show the class's name and nothing else.
 */
export function Opaque(target: { readonly name: string; readonly prototype: object }): void {
  const show = { value: () => `[${target.name}]`, configurable: true };
  Object.defineProperties(target.prototype, { [INSPECT]: show, toJSON: show });
}
