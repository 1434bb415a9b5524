/** The value of a `row(…)`: the list of its fields' values, which can be read by their names as well. */
export class NamedRow<T> extends Array<T> {
  /** What is made of it (`map`, `filter`) is a plain list. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  readonly #names: readonly (string | null)[];

  /** @param names in the order of the values; null: that field has none */
  constructor(names: readonly (string | null)[], values: readonly T[]) {
    super(values.length);
    this.#names = names;
    values.forEach((value, position) => (this[position] = value));
  }

  /** In the order of the values; null: that field has none. Several may have the same. */
  get names(): readonly (string | null)[] {
    return this.#names;
  }

  /** The value of the first field of that name, as the engine writes it; undefined: there is none. */
  get(name: string): T | undefined {
    return this[this.#names.indexOf(name)];
  }
}
