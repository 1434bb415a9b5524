import type { QueryResultRow } from 'pg';
import type { DatabaseSession } from './database-session.js';

interface Asked<Row> {
  key: readonly unknown[];
  answer: (row: Row | null) => void;
  fail: (error: unknown) => void;
}

/**
 * A query for one row that nearly every request makes: those that ask in one turn of the event loop share a statement, which
 * begins after the last of them has asked (docs/decisions/0060). In a transaction each has its own, there.
 */
export class GatheredQuery<Row extends QueryResultRow> {
  private asked: Asked<Row>[] = [];
  /** Of the one that asked last. */
  private times: readonly Date[] = [];

  /**
   * @param text takes each part of the keys as an array, then the times; a row's `at` is the place of its key, from 1 on. Keys are checked
   * before: one that the database cannot read fails all that ask with it
   */
  constructor(
    private readonly session: Pick<DatabaseSession, 'isInTransaction' | 'prepared'>,
    private readonly name: string,
    private readonly text: string,
  ) {}

  /** The row of a key; null: there is none. @param times by which all that ask together are judged: those of the last */
  find(key: readonly unknown[], times: readonly Date[]): Promise<Row | null> {
    return new Promise((answer, fail) => {
      const asked = { key, answer, fail };
      if (this.session.isInTransaction) void this.ask([asked], times);
      else {
        this.times = times;
        if (this.asked.push(asked) === 1) setImmediate(this.askTogether);
      }
    });
  }

  private readonly askTogether = (): void => {
    const together = this.asked;
    this.asked = [];
    void this.ask(together, this.times);
  };

  private async ask(together: readonly Asked<Row>[], times: readonly Date[]): Promise<void> {
    try {
      const parts = together[0]?.key.map((_, part) => together.map(({ key }) => key[part])) ?? [];
      const rows = await this.session.prepared<Row & { at: number }>(this.name, this.text, [...parts, ...times]);
      for (const row of rows) together[row.at - 1]?.answer(row);
      for (const { answer } of together) answer(null); // of those that have no row
    } catch (error) {
      for (const { fail } of together) fail(error);
    }
  }
}
