import type { QueryResultRow } from 'pg';
import type { DatabaseSession } from './database-session.js';

interface PendingCall<Row> {
  key: readonly unknown[];
  resolve: (row: Row | null) => void;
  reject: (error: unknown) => void;
}

/** A query for one row that nearly every request makes. Calls in one turn of the event loop share a statement (record 0060). */
export class GatheredQuery<Row extends QueryResultRow> {
  private pendingCalls: PendingCall<Row>[] = [];
  private times: readonly Date[] = [];
  /** The query for many keys at once. The `position` of a row is the number of the row's key, from 1. */
  private readonly batchText: string;

  /**
   * @param keyTypes types of the values of a key. Callers must check keys: an invalid key makes all calls of the shared statement fail
   * @param queryText the query for one key. Its parameters are the key's values, then the `times`
   */
  constructor(
    private readonly session: Pick<DatabaseSession, 'isInTransaction' | 'queryPrepared'>,
    private readonly name: string,
    keyTypes: readonly string[],
    private readonly queryText: string,
  ) {
    this.batchText = batchQuery(queryText, keyTypes);
  }

  /** The row of a key; null: no row has the key. @param times moments for the query. Calls joined to one statement all use the last call's `times` */
  find(key: readonly unknown[], times: readonly Date[]): Promise<Row | null> {
    return new Promise((resolve, reject) => {
      const call = { key, resolve, reject };
      if (this.session.isInTransaction) void this.runCalls([call], times);
      else {
        this.times = times;
        if (this.pendingCalls.push(call) === 1) setImmediate(this.runBatch);
      }
    });
  }

  private readonly runBatch = (): void => {
    const batchCalls = this.pendingCalls;
    this.pendingCalls = [];
    void this.runCalls(batchCalls, this.times);
  };

  private async runCalls(calls: readonly PendingCall<Row>[], times: readonly Date[]): Promise<void> {
    const [firstCall, secondCall] = calls;
    try {
      if (firstCall !== undefined && secondCall === undefined) {
        const rows = await this.session.queryPrepared<Row>(this.name, this.queryText, [...firstCall.key, ...times]);
        firstCall.resolve(rows[0] ?? null);
        return;
      }
      const keyColumns = firstCall?.key.map((_, partIndex) => calls.map(({ key }) => key[partIndex])) ?? [];
      const values = [...keyColumns, ...times];
      const name = `${this.name}_many`;
      const rows = await this.session.queryPrepared<Row & { position: number }>(name, this.batchText, values);
      for (const row of rows) calls[row.position - 1]?.resolve(row);
      for (const { resolve: answer } of calls) answer(null); // the remaining keys have no row
    } catch (error) {
      for (const { reject: fail } of calls) fail(error);
    }
  }
}

/**
 * The query for many keys. OFFSET 0 makes the planner look up each key instead of reading whole tables. The SELECT around each array lets
 * PostgreSQL reuse one generic plan.
 */
function batchQuery(queryText: string, keyTypes: readonly string[]): string {
  const arraysSql = keyTypes.map((type, partIndex) => `(SELECT $${partIndex + 1}::${type}[])`).join(', ');
  const keyColumns = keyTypes.map((_, part) => `part_${part + 1}`).join(', ');
  const singleQuery = queryText.replace(/\$(\d+)/g, (parameter, number: string) =>
    Number(number) <= keyTypes.length ? `asked.part_${number}` : parameter,
  );
  return `
    SELECT asked.position::integer AS position, found.*
    FROM unnest(${arraysSql}) WITH ORDINALITY AS asked(${keyColumns}, position)
    CROSS JOIN LATERAL (${singleQuery} OFFSET 0) AS found`;
}
