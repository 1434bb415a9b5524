import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useId } from 'react';
import { Link } from 'wouter';
import { firstRows, type Rows } from '../api/rows.js';
import { readRefusal } from '../domain/engine-refusal.js';
import { whyAddress } from '../domain/why-address.js';
import type { PolicyForm } from '../domain/policy-form.js';
import { rowSampleOf } from '../domain/row-sample.js';
import { failureText } from './failure.js';
import { useSettled } from './settled.js';

/** Milliseconds without a change before the engine is asked. */
const PAUSE = 600;

interface RowComparisonProps {
  draft: PolicyForm;
  /** Null: the policy is new. */
  saved: PolicyForm | null;
  /** The account under whose name they are read. */
  userId: number;
}

/** A few rows of the policy's table under one's own name, as they are and as the draft has them; or why there are none. */
export function RowComparison({ draft, saved, userId }: RowComparisonProps) {
  const sample = rowSampleOf(draft, saved);
  const sql = useSettled('sql' in sample ? sample.sql : '', PAUSE);
  const { data, error } = useQuery({
    queryKey: ['rows', sql],
    enabled: sql !== '',
    staleTime: 60_000,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) => firstRows(sql, 'most' in sample ? sample.most : 0, signal),
  });
  const isCurrent = 'sql' in sample && sample.sql === sql;
  const sides = isCurrent && data !== undefined ? sample.read(data) : null;
  const reason =
    'reason' in sample ? (
      sample.reason
    ) : error !== null && isCurrent ? (
      <NoRows error={error} userId={userId} />
    ) : (
      'Reading rows'
    );
  return (
    <div className="pair">
      <Side title="Rows before" hint={saved === null ? 'as you see them' : 'with the policy as it is saved'}>
        {sides === null ? <p className="dim">{reason}</p> : <RowTable name="Before" rows={sides.before} />}
      </Side>
      <Side title="Rows after" hint="with what stands above">
        {sides === null ? (
          <p className="dim">{reason}</p>
        ) : (
          <RowTable name="After" rows={sides.after} marked={draft.kind === 'column_mask' ? draft.column : null} />
        )}
      </Side>
    </div>
  );
}

function NoRows({ error, userId }: { error: Error; userId: number }) {
  const refused = readRefusal(error.message);
  return (
    <>
      {failureText(error)}{' '}
      {refused !== null && (
        <Link href={whyAddress({ type: 'user', id: userId }, refused.privilege, refused.node)}>Why?</Link>
      )}
    </>
  );
}

function Side({ title, hint, children }: { title: string; hint: string; children: ReactNode }) {
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <div className="head">
        <h2 id={id}>{title}</h2>
        <span className="count">{hint}</span>
      </div>
      {children}
    </section>
  );
}

function RowTable({
  name,
  rows: { columns, rows },
  marked = null,
}: {
  name: string;
  rows: Rows;
  marked?: string | null;
}) {
  if (rows.length === 0) return <p className="dim">No row.</p>;
  return (
    <div className="scroll" tabIndex={0} role="group" aria-label={`${name}, table`}>
      <table className="table table--data" aria-label={name} role="table">
        <thead role="rowgroup">
          <tr role="row">
            {columns.map((column, i) => (
              <th key={i} role="columnheader" scope="col">
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row, at) => (
            <tr key={at} role="row">
              {row.map((value, i) => (
                <td key={i} role="cell">
                  {columns[i]?.name === marked ? (
                    <mark>
                      <Value of={value} />
                    </mark>
                  ) : (
                    <Value of={value} />
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Value({ of }: { of: unknown }) {
  if (of === null) return <i className="null">NULL</i>;
  return <>{typeof of === 'string' ? of : JSON.stringify(of)}</>;
}
