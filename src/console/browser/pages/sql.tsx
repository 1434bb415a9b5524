import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import type { Schemas } from '../api/client.js';
import { queries, useMe } from '../api/session.js';
import { type Fault, type Results, type Statement, submit, useStatement } from '../api/statements.js';
import { numberText } from '../domain/count-text.js';
import { readRefusal } from '../domain/engine-refusal.js';
import { clockTime } from '../domain/moment-text.js';
import { whyAddress } from '../domain/why-address.js';
import { Button, ButtonLink, Icon } from '../parts/controls.js';
import { NameCombobox } from '../parts/node-comboboxes.js';
import { Failure, Notice } from '../parts/notice.js';
import { Page } from '../parts/page.js';
import { DataTable } from '../parts/table.js';

const SqlEditor = lazy(() => import('../parts/sql-editor.js'));

/** Cache key of the typed statement, which is kept until the session ends. */
const DRAFT = ['sql-draft'];
queries.setQueryDefaults(DRAFT, { gcTime: Infinity, staleTime: Infinity });

/** The statement as typed so far. The last render may be older. */
function draftNow(): Statement {
  return queries.getQueryData<Statement>(DRAFT) ?? NOTHING_TYPED;
}

const NOTHING_TYPED: Statement = { sql: '', catalog: '', schema: '' };

/** SQL under the own name. */
export function Sql() {
  // Signing in again refetches all queries, including this one.
  const { data: draft } = useQuery({ queryKey: DRAFT, queryFn: draftNow, initialData: NOTHING_TYPED });
  const set = (part: Partial<Statement>): void => void queries.setQueryData(DRAFT, { ...draftNow(), ...part });
  const { running, fault, results, run, more, cancel, fail } = useStatement();
  const start = (): void => {
    const typed = draftNow();
    if (running === null && typed.sql.trim() !== '') void run(typed);
  };
  const wrongLine = fault !== null && 'error' in fault ? fault.error.line : null;
  return (
    <Page
      isClose
      title="SQL"
      actions={
        <>
          <NameCombobox
            isOwn
            label="Catalog"
            under={[]}
            isDisabled={false}
            text={draft.catalog}
            set={(name) => set({ catalog: name.toLowerCase(), ...(name === '' && { schema: '' }) })}
          />
          <NameCombobox
            isOwn
            label="Schema"
            under={[draft.catalog]}
            text={draft.schema}
            set={(name) => set({ schema: name.toLowerCase() })}
            isDisabled={draft.catalog === ''}
          />
          {running !== null && <Button text="Cancel query" onClick={cancel} isOff={running === 'submitting'} />}
          <Button
            look="primary"
            icon={running === null ? 'play' : 'turn'}
            onClick={start}
            isOff={running !== null || draft.sql.trim() === ''}
            aria-busy={running !== null}
          >
            Run <kbd aria-hidden="true">Ctrl ↵</kbd>
          </Button>
        </>
      }
    >
      <Suspense fallback={<div className="editor" aria-busy="true" />}>
        <SqlEditor
          label="SQL statement"
          text={draft.sql}
          setText={(sql) => set({ sql })}
          place={draft}
          run={start}
          wrongLine={wrongLine}
        />
      </Suspense>
      {fault !== null && <Refusal fault={fault} />}
      <SqlResults results={results} running={running} isBefore={fault !== null} more={more} fail={fail} />
    </Page>
  );
}

const ENDS: Readonly<Record<string, string>> = {
  query_cancelled: 'The statement was cancelled',
  query_timeout: 'The statement took too long',
  query_lost: 'The engine has lost this statement',
};

function Refusal({ fault }: { fault: Fault }) {
  const { id } = useMe();
  if (!('error' in fault)) return <Failure problem={fault.problem} />;
  const { error, query } = fault;
  const isDenied = error.engine_error_name === 'PERMISSION_DENIED';
  const refused = isDenied ? readRefusal(error.message) : null;
  return (
    <Notice
      tone="loss"
      icon="stop"
      role="alert"
      title={isDenied ? 'The engine refused this statement' : (ENDS[error.code] ?? 'The statement failed')}
      actions={
        refused && <ButtonLink text="Why?" href={whyAddress({ type: 'user', id }, refused.privilege, refused.node)} />
      }
    >
      <p>
        {error.line !== null && `Line ${error.line}: `}
        {error.message.replace(/\.?$/, '.')} Your text is still here.
      </p>
      <p className="hint">
        {[error.engine_error_name ?? error.code, query.engine_query_id && `query ${query.engine_query_id}`]
          .filter((each) => each !== null)
          .join(', ')}
      </p>
    </Notice>
  );
}

interface SqlResultsProps {
  results: Results | null;
  running: Schemas['Query'] | 'submitting' | null;
  /** A newer statement has failed: these rows are of the one before. */
  isBefore: boolean;
  more: (results: Results) => Promise<void>;
  fail: (problem: Error) => void;
}

/** The rows of the last statement that had any, and the progress of the newest one. */
function SqlResults({ results, running, isBefore, more, fail }: SqlResultsProps) {
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
  const count = numberText(rows.length);
  return `${next === null ? count : `the first ${count}`} ${rows.length === 1 ? 'row' : 'rows'}, ${took}`;
}

/** All rows as a file. Rows can be read once: the statement runs again. */
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
