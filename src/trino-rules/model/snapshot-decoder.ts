/** A problem and its place: `grants[3].resource.schema`; an empty path is the whole value. */
export interface SnapshotProblem {
  path: string;
  message: string;
}

type Fields<K extends string> = Partial<Record<K, unknown>>;

/** Reads a parsed JSON value of unknown shape and collects all problems. Results are valid only if there are no problems. */
export class SnapshotDecoder {
  readonly problems: SnapshotProblem[] = [];
  /** Path of the last value that should have been an object. Problems of its fields are not listed. */
  private lastNonObjectPath: string | null = null;

  addProblem(path: string, message: string): void {
    if (!this.isInNonObject(path)) this.problems.push({ path, message });
  }

  private isInNonObject(path: string): boolean {
    return this.lastNonObjectPath !== null && path.startsWith(`${this.lastNonObjectPath}.`);
  }

  object<K extends string>(value: unknown, path: string, knownFields: readonly K[]): Fields<K> {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.addProblem(path, 'must be an object');
      if (!this.isInNonObject(path)) this.lastNonObjectPath = path;
      return {};
    }
    for (const key of Object.keys(value)) {
      if (!knownFields.some((name) => name === key)) this.addProblem(joinPath(path, key), 'is not a known field');
    }
    return value;
  }

  list<T>(value: unknown, path: string, readItem: (item: unknown, path: string) => T): T[] {
    if (Array.isArray(value)) return value.map((item, i) => readItem(item, `${path}[${i}]`));
    this.addProblem(path, 'must be a list');
    return [];
  }

  string(value: unknown, path: string): string {
    if (typeof value === 'string') return value;
    this.addProblem(path, 'must be a string');
    return '';
  }

  text(value: unknown, path: string, problemOf: (text: string) => string | null): string {
    const text = this.string(value, path);
    const problem = typeof value === 'string' ? problemOf(text) : null;
    if (problem !== null) this.addProblem(path, problem);
    return text;
  }

  boolean(value: unknown, path: string): boolean {
    if (typeof value !== 'boolean') this.addProblem(path, 'must be true or false');
    return value === true;
  }

  id(value: unknown, path: string): number {
    if (typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_ID) return value;
    this.addProblem(path, `must be an integer from 1 to ${MAX_ID}`);
    return 0;
  }

  oneOf<T extends string>(value: unknown, path: string, choices: readonly T[]): T | undefined {
    const choiceFound = choices.find((choice) => choice === value);
    if (choiceFound === undefined) this.addProblem(path, `must be one of ${choices.join(', ')}`);
    return choiceFound;
  }

  /** Reads a moment in ISO 8601 and UTC, such as `2026-11-20T00:00:00.000Z`. */
  instant(value: unknown, path: string): Date {
    const text = typeof value === 'string' && INSTANT_PATTERN.test(value) ? value : '';
    const date = new Date(text);
    // The dates are compared, because `Date` reads 30 February as 2 March.
    if (!Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text.slice(0, 10)) return date;
    this.addProblem(path, 'must be a moment in UTC such as 2026-11-20T00:00:00.000Z');
    return new Date(0);
  }
}

/** The largest integer of the database. */
const MAX_ID = 2 ** 31 - 1;
const INSTANT_PATTERN = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,3})?)?Z$/;

export function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
