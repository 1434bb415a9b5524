import type { Schemas } from '../api/client.js';
import { type Results, submit } from '../api/statements.js';
import { clockTime } from '../domain/moment-text.js';
import { DataTable } from '../parts/data-table.js';
import { Icon } from '../parts/icon.js';

interface SqlResultsProps {
  results: Results | null;
  running: Schemas['Query'] | 'submitting' | null;
  /** A newer statement has failed: these are of the one before. */
  isBefore: boolean;
  more: (results: Results) => Promise<void>;
  fail: (problem: Error) => void;
}

/** The rows of the last statement that had any, and how the newest one goes. */
export function SqlResults({ results, running, isBefore, more, fail }: SqlResultsProps) {
  return (
    <section>
      <div className="head">
        <h2>Results</h2>
        {results !== null && (isBefore || running !== null) && (
          <span className="count">of the statement before, {clockTime(results.at)}</span>
        )}
        <p className="row hint">
          <span role="status">{statusText(results, running)}</span>
          {results !== null && results.columns.length > 0 && <CsvLink results={results} fail={fail} />}
        </p>
      </div>
      {results !== null && results.columns.length > 0 && (
        <DataTable
          key={results.queryId}
          name="Results"
          isTyped
          columns={results.columns}
          rows={results.rows}
          more={results.next === null ? null : () => void more(results)}
        />
      )}
    </section>
  );
}

function statusText(results: Results | null, running: SqlResultsProps['running']): string {
  if (running === 'submitting' || running?.state === 'queued') return 'Queued';
  if (running !== null) {
    const { progress_percent: percent } = running;
    return percent === null ? 'Running' : `Running, ${Math.round(percent)} %`;
  }
  if (results === null) return 'Nothing was run yet.';
  const { rows, next, columns, seconds } = results;
  const took = `${seconds.toLocaleString('en', { maximumFractionDigits: 1 })} s`;
  if (columns.length === 0) return `Done, ${took}`;
  const count = rows.length.toLocaleString('en');
  return `${next === null ? count : `the first ${count}`} ${rows.length === 1 ? 'row' : 'rows'}, ${took}`;
}

/** All rows as a file. Rows that were read are no longer there to be read: the statement runs once more. */
function CsvLink({ results, fail }: Pick<SqlResultsProps, 'fail'> & { results: Results }) {
  const address = (id: string): string => `/api/queries/${id}/rows?format=csv`;
  const download = async (): Promise<void> => {
    const link = document.createElement('a');
    link.href = address((await submit(results.statement)).id);
    link.download = 'results.csv';
    link.click();
  };
  return (
    <a
      className="button button--small"
      href={address(results.queryId)}
      title="Runs the statement again, and saves all rows"
      onClick={(event) => {
        event.preventDefault();
        download().catch(fail);
      }}
    >
      <Icon name="download" />
      CSV
    </a>
  );
}
