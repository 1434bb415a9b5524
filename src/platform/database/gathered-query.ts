import type { QueryResultRow } from 'pg';
import type { DatabaseSession } from './database-session.js';

interface Pending<Row> {
  key: readonly unknown[];
  answer: (row: Row | null) => void;
  fail: (error: unknown) => void;
}

/**
 * A query for one row that nearly every request makes. Calls in one turn of the event loop share a statement (record 0060). A single
 * call, and each call in a transaction, runs the plain query.
 */
export class GatheredQuery<Row extends QueryResultRow> {
  private pending: Pending<Row>[] = [];
  /** The `times` of the latest call. */
  private times: readonly Date[] = [];
  /** The query for many keys at once. A row's `at` is the number of its key, from 1. */
  private readonly textOfMany: string;

  /**
   * @param keyTypes types of a key's parts. Callers must check keys, because an unreadable one fails all calls of the statement
   * @param text the query for one key, with the key's parts as first parameters, then the times
   */
  constructor(
    private readonly session: Pick<DatabaseSession, 'isInTransaction' | 'queryPrepared'>,
    private readonly name: string,
    keyTypes: readonly string[],
    private readonly text: string,
  ) {
    this.textOfMany = ofMany(text, keyTypes);
  }

  /** The row of a key; null: there is none. @param times further parameters; calls that share a statement use those of the last call */
  find(key: readonly unknown[], times: readonly Date[]): Promise<Row | null> {
    return new Promise((answer, fail) => {
      const call = { key, answer, fail };
      if (this.session.isInTransaction) void this.ask([call], times);
      else {
        this.times = times;
        if (this.pending.push(call) === 1) setImmediate(this.askTogether);
      }
    });
  }

  private readonly askTogether = (): void => {
    const together = this.pending;
    this.pending = [];
    void this.ask(together, this.times);
  };

  private async ask(together: readonly Pending<Row>[], times: readonly Date[]): Promise<void> {
    const [first, second] = together;
    try {
      if (first !== undefined && second === undefined) {
        const rows = await this.session.queryPrepared<Row>(this.name, this.text, [...first.key, ...times]);
        first.answer(rows[0] ?? null);
        return;
      }
      const parts = first?.key.map((_, part) => together.map(({ key }) => key[part])) ?? [];
      const values = [...parts, ...times];
      const rows = await this.session.queryPrepared<Row & { at: number }>(`${this.name}_many`, this.textOfMany, values);
      for (const row of rows) together[row.at - 1]?.answer(row);
      for (const { answer } of together) answer(null); // the remaining keys have no row
    } catch (error) {
      for (const { fail } of together) fail(error);
    }
  }
}

/**
 * OFFSET keeps the planner from reading the tables for all keys at once, as it cannot know that there are few. The SELECT hides the arrays:
 * otherwise a plan for the present keys would look cheaper than a generic one, and every request would be planned.
 */
function ofMany(text: string, keyTypes: readonly string[]): string {
  const arrays = keyTypes.map((type, part) => `(SELECT $${part + 1}::${type}[])`).join(', ');
  const parts = keyTypes.map((_, part) => `part_${part + 1}`).join(', ');
  const ofOne = text.replace(/\$(\d+)/g, (parameter, number: string) =>
    Number(number) <= keyTypes.length ? `asked.part_${number}` : parameter,
  );
  return `
    SELECT asked.at::integer AS at, found.*
    FROM unnest(${arrays}) WITH ORDINALITY AS asked(${parts}, at)
    CROSS JOIN LATERAL (${ofOne} OFFSET 0) AS found`;
}
