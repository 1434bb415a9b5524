import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { firstRows, type Rows } from '../api/rows.js';
import { readRefusal } from '../domain/engine-refusal.js';
import { whyAddress } from '../domain/why-address.js';
import type { PolicyForm } from '../domain/policy-form.js';
import { rowSampleOf } from '../domain/row-sample.js';
import { DataTable } from './data-table.js';
import { failureText } from './failure.js';
import { Region } from './page.js';
import { useSettled } from './address.js';

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
      <Region title="Rows before" count={saved === null ? 'as you see them' : 'with the policy as it is saved'}>
        {sides === null ? <p className="dim">{reason}</p> : <SideRows name="Before" rows={sides.before} />}
      </Region>
      <Region title="Rows after" count="with what stands above">
        {sides === null ? (
          <p className="dim">{reason}</p>
        ) : (
          <SideRows name="After" rows={sides.after} marked={draft.kind === 'column_mask' ? draft.column : null} />
        )}
      </Region>
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

function SideRows({ name, rows, marked = null }: { name: string; rows: Rows; marked?: string | null }) {
  return rows.rows.length === 0 ? <p className="dim">No row.</p> : <DataTable name={name} {...rows} marked={marked} />;
}
