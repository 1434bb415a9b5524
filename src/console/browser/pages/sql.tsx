import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import type { Schemas } from '../api/client.js';
import { queryClient, useOwnAccount } from '../api/session.js';
import { type StatementFault, type Results, type Statement, submitStatement, useStatement } from '../api/statements.js';
import { countText } from '../domain/count-text.js';
import { clockTime } from '../domain/moment-text.js';
import { isRepeatable, parseRefusal } from '../domain/sql-statement.js';
import { whyAddress } from '../domain/why-address.js';
import { Button, ButtonLink, downloadFile, Icon } from '../parts/controls.js';
import { NameCombobox } from '../parts/node-fields.js';
import { Failure, Notice } from '../parts/notice.js';
import { Page, Region } from '../parts/page.js';
import { DataTable } from '../parts/table.js';

const SqlEditor = lazy(() => import('../parts/sql-editor.js'));

/** Cache key of the typed statement. The cache keeps the statement until the session ends. */
const DRAFT_KEY = ['sql-draft'];
queryClient.setQueryDefaults(DRAFT_KEY, { gcTime: Infinity, staleTime: Infinity });

/** The typed statement, read from the cache, because the value of the last render may be older. */
function currentDraft(): Statement {
  return queryClient.getQueryData<Statement>(DRAFT_KEY) ?? EMPTY_STATEMENT;
}

const EMPTY_STATEMENT: Statement = { sql: '', catalog: '', schema: '' };

/** The page on which SQL runs as the signed-in person. */
export function Sql() {
  // After a new sign-in the cache calls every `queryFn` again. This one returns the present draft, so that the typed text is kept.
  const { data: draft } = useQuery({ queryKey: DRAFT_KEY, queryFn: currentDraft, initialData: EMPTY_STATEMENT });
  const setDraft = (changes: Partial<Statement>): void =>
    void queryClient.setQueryData(DRAFT_KEY, { ...currentDraft(), ...changes });
  const { runningQuery, fault, results, run, readMore, cancel, showFailure } = useStatement();
  const isRunning = runningQuery !== null;
  const runDraft = (): void => {
    const typedStatement = currentDraft();
    if (!isRunning && typedStatement.sql.trim() !== '') void run(typedStatement);
  };
  const wrongLine = fault !== null && 'error' in fault ? fault.error.line : null;
  return (
    <Page
      isCompact
      title="SQL"
      actions={
        <>
          <NameCombobox
            isForOwnNames
            label="Catalog"
            parentPath={[]}
            isDisabled={false}
            text={draft.catalog}
            set={(name) => setDraft({ catalog: name.toLowerCase(), ...(name === '' && { schema: '' }) })}
          />
          <NameCombobox
            isForOwnNames
            label="Schema"
            parentPath={[draft.catalog]}
            text={draft.schema}
            set={(name) => setDraft({ schema: name.toLowerCase() })}
            isDisabled={draft.catalog === ''}
          />
          {isRunning && <Button text="Cancel query" onClick={cancel} isDisabled={runningQuery === 'submitting'} />}
          <Button
            look="primary"
            icon={isRunning ? 'turn' : 'play'}
            onClick={runDraft}
            isDisabled={isRunning || draft.sql.trim() === ''}
            aria-busy={isRunning}
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
          setText={(sql) => setDraft({ sql })}
          namespace={draft}
          run={runDraft}
          wrongLine={wrongLine}
        />
      </Suspense>
      {fault !== null && <FaultNotice fault={fault} />}
      <SqlResults {...{ results, runningQuery, readMore, showFailure }} isOfEarlierStatement={fault !== null} />
    </Page>
  );
}

const FAULT_TITLES: Readonly<Record<string, string>> = {
  query_cancelled: 'The statement was cancelled',
  query_timeout: 'The statement took too long',
  query_lost: 'The engine has lost this statement',
};

function FaultNotice({ fault }: { fault: StatementFault }) {
  const { id } = useOwnAccount();
  if (!('error' in fault)) return <Failure {...fault} />;
  const { error, query } = fault;
  const isDenied = error.engine_error_name === 'PERMISSION_DENIED';
  const refusal = isDenied ? parseRefusal(error.message) : null;
  return (
    <Notice
      tone="loss"
      icon="stop"
      role="alert"
      title={isDenied ? 'The engine refused this statement' : (FAULT_TITLES[error.code] ?? 'The statement failed')}
      actions={
        refusal && <ButtonLink text="Why?" href={whyAddress({ type: 'user', id }, refusal.privilege, refusal.node)} />
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
  runningQuery: Schemas['Query'] | 'submitting' | null;
  isOfEarlierStatement: boolean;
  readMore: (results: Results) => Promise<void>;
  showFailure: (problem: Error) => void;
}

function SqlResults({ results, runningQuery, isOfEarlierStatement, readMore, showFailure }: SqlResultsProps) {
  return (
    <Region
      title="Results"
      count={
        results !== null &&
        (isOfEarlierStatement || runningQuery !== null) &&
        `of the statement before, ${clockTime(results.readAt)}`
      }
      actions={
        <p className="row hint">
          <span role="status">{statusText(results, runningQuery)}</span>
          {results !== null && results.columns.length > 0 && isRepeatable(results.statement.sql) && (
            <CsvLink results={results} showFailure={showFailure} />
          )}
        </p>
      }
    >
      {results !== null && results.columns.length > 0 && (
        <DataTable
          key={results.queryId}
          name="Results"
          hasTypes
          columns={results.columns}
          rows={results.rows}
          readMore={results.nextCursor === null ? null : () => void readMore(results)}
        />
      )}
    </Region>
  );
}

function statusText(results: Results | null, runningQuery: SqlResultsProps['runningQuery']): string {
  if (runningQuery === 'submitting' || runningQuery?.state === 'queued') return 'Queued';
  if (runningQuery !== null) {
    const { progress_percent: percent } = runningQuery;
    return percent === null ? 'Running' : `Running, ${Math.round(percent)} %`;
  }
  if (results === null) return 'Nothing was run yet.';
  const { rows, nextCursor, isTruncated, columns, durationSeconds } = results;
  const durationText = `${durationSeconds.toLocaleString('en', { maximumFractionDigits: 1 })} s`;
  if (columns.length === 0) return `Done, ${durationText}`;
  const rowsText = countText(rows.length, 'row');
  if (isTruncated) return `the first ${rowsText}: the service's limit, ${durationText}`;
  return `${nextCursor === null ? '' : 'the first '}${rowsText}, ${durationText}`;
}

/** Downloads all rows as a file. Runs the statement again, because rows can be read only once. */
function CsvLink({ results, showFailure }: Pick<SqlResultsProps, 'showFailure'> & { results: Results }) {
  const csvAddress = (id: string): string => `/api/queries/${id}/rows?format=csv`;
  const downloadRows = async (): Promise<void> => {
    const { id } = await submitStatement(results.statement);
    downloadFile(csvAddress(id), 'results.csv');
  };
  return (
    <a
      className="button button--small"
      href={csvAddress(results.queryId)}
      title={`Runs the statement again, and saves all rows${results.isTruncated ? ' up to the same limit' : ''}`}
      onClick={(event) => {
        event.preventDefault();
        downloadRows().catch(showFailure);
      }}
    >
      <Icon name="download" />
      CSV
    </a>
  );
}
