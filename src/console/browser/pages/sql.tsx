import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api/client.js';
import { queries } from '../api/session.js';
import { type Fault, type Statement, useStatement } from '../api/statements.js';
import { readRefusal } from '../domain/engine-refusal.js';
import { whyAddress } from '../domain/why-address.js';
import { Failure } from '../parts/failure.js';
import { Icon } from '../parts/icon.js';
import { NameCombobox } from '../parts/node-comboboxes.js';
import { Notice } from '../parts/notice.js';
import { PageHead } from '../parts/page.js';
import { SqlResults } from './sql-results.js';

const SqlEditor = lazy(() => import('../parts/sql-editor.js'));

/** What is typed outlives the page, and ends with the session. */
const DRAFT = ['sql-draft'];
queries.setQueryDefaults(DRAFT, { gcTime: Infinity, staleTime: Infinity });

/** What is typed by now, which a page that is not drawn yet does not show. */
function draftNow(): Statement {
  return queries.getQueryData<Statement>(DRAFT) ?? NOTHING_TYPED;
}

const NOTHING_TYPED: Statement = { sql: '', catalog: '', schema: '' };

/** SQL under the own name. */
export function Sql({ me }: { me: Schemas['ConsoleAccountResponse'] }) {
  // Signing in again asks all queries anew, this one too.
  const { data: draft } = useQuery({ queryKey: DRAFT, queryFn: draftNow, initialData: NOTHING_TYPED });
  const set = (part: Partial<Statement>): void => void queries.setQueryData(DRAFT, { ...draftNow(), ...part });
  const { running, fault, results, run, more, cancel, fail } = useStatement();
  const start = (): void => {
    const typed = draftNow();
    if (running === null && typed.sql.trim() !== '') void run(typed);
  };
  const wrongLine = fault !== null && 'error' in fault ? fault.error.line : null;
  return (
    <main id="main" tabIndex={-1}>
      <div className="stack stack--mid">
        <PageHead
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
              {running !== null && (
                <button className="button" type="button" onClick={cancel} aria-disabled={running === 'submitting'}>
                  Cancel query
                </button>
              )}
              <button
                className="button button--primary"
                type="button"
                onClick={start}
                aria-disabled={running !== null || draft.sql.trim() === ''}
                aria-busy={running !== null}
              >
                <Icon name={running === null ? 'play' : 'turn'} />
                Run <kbd aria-hidden="true">Ctrl ↵</kbd>
              </button>
            </>
          }
        />
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
        {fault !== null && <Refusal fault={fault} me={me} />}
        <SqlResults results={results} running={running} isBefore={fault !== null} more={more} fail={fail} />
      </div>
    </main>
  );
}

const ENDS: Readonly<Record<string, string>> = {
  query_cancelled: 'The statement was cancelled',
  query_timeout: 'The statement took too long',
  query_lost: 'The engine has lost this statement',
};

function Refusal({ fault, me }: { fault: Fault; me: Schemas['ConsoleAccountResponse'] }) {
  if (!('error' in fault)) return <Failure problem={fault.problem} />;
  const { error, query } = fault;
  const refused = error.engine_error_name === 'PERMISSION_DENIED' ? readRefusal(error.message) : null;
  const title =
    error.engine_error_name === 'PERMISSION_DENIED'
      ? 'The engine refused this statement'
      : (ENDS[error.code] ?? 'The statement failed');
  return (
    <Notice
      tone="loss"
      icon="stop"
      role="alert"
      title={title}
      actions={
        refused && (
          <Link className="button" href={whyAddress({ type: 'user', id: me.id }, refused.privilege, refused.node)}>
            Why?
          </Link>
        )
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
