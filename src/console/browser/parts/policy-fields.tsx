import { useId, useState } from 'react';
import { useColumns } from '../api/statements.js';
import { offeredNode } from '../domain/grant-form.js';
import {
  ALSO_CLOSED,
  hasColumn,
  hasExpression,
  type Kind,
  KIND_NAMES,
  type PolicyForm,
} from '../domain/policy-form.js';
import { sqlPath } from '../domain/node-path.js';
import { principalParameter } from '../domain/principal.js';
import { useSettled } from './address.js';
import { Combobox } from './combobox.js';
import { Button } from './controls.js';
import { type Named, Shape } from './display.js';
import { Token } from './filter-bar.js';
import { FieldHint, fieldsOf, Segments, TextField } from './form.js';
import { NodeComboboxes, useTypedName } from './node-comboboxes.js';
import { PlaceFields, PrivilegeChecks } from './place-fields.js';
import { PrincipalCombobox, usePrincipalName } from './principal-combobox.js';

interface PolicyFieldsProps {
  form: PolicyForm;
  change: (part: Partial<PolicyForm>) => void;
  errors: Readonly<Record<string, string>>;
}

/** Milliseconds without a change before the engine is asked for columns. */
const PAUSE = 300;

const KINDS = Object.entries(KIND_NAMES) as [Kind, string][];

/** The fields of a policy: its kind and principal, beside its node and what it takes. */
export function PolicyFields({ form, change, errors }: PolicyFieldsProps) {
  const { kind } = form;
  const field = fieldsOf(form, change, errors);
  return (
    <div className="pair">
      <div className="stack">
        <Segments legend="Kind" choices={KINDS} {...field('kind')} />
        <PrincipalCombobox {...field('principal')} />
        <Principals title="Except" each="Exception" {...field('except')} />
        <TextField label="Description" {...field('description')} rows={2} />
      </div>
      <div className="stack">
        {kind === 'deny' ? (
          <PlaceFields form={form} change={change} error={errors['resource']} />
        ) : (
          <div className="field">
            <NodeComboboxes value={form} set={change} />
            <FieldHint error={errors['resource']} />
          </div>
        )}
        {hasColumn(kind) && <ColumnCombobox table={[form.catalog, form.schema, form.table]} {...field('column')} />}
        {hasExpression(kind) && (
          <TextField
            label="Expression"
            {...field('expression')}
            rows={3}
            isMono
            hint={kind === 'row_filter' ? 'SQL, true for the rows that stay.' : "SQL of the column's type."}
          />
        )}
        {kind === 'deny' && (
          <>
            <PrivilegeChecks node={offeredNode(form)} holder={null} {...field('privileges')} />
            <p className="hint">None chosen: all of them are denied.</p>
          </>
        )}
        <p className="hint">{ALSO_CLOSED[kind]} What no rule can close: docs/limits.md.</p>
      </div>
    </div>
  );
}

interface ColumnComboboxProps {
  /** Its path; an empty name: none is chosen yet. */
  table: readonly string[];
  value: string;
  set: (column: string) => void;
  error: string | undefined;
  placeholder?: string;
}

/** A column out of those that the engine lists; others can be typed. */
export function ColumnCombobox({ table, value, set, error, placeholder }: ColumnComboboxProps) {
  const { typed, field } = useTypedName(value, (column) => set(column.toLowerCase()));
  const columns = useColumns(useSettled(table.includes('') ? '' : sqlPath(table), PAUSE)).filter(({ name }) =>
    name.includes(typed ?? ''),
  );
  return (
    <Combobox
      {...field}
      label="Column"
      error={error}
      placeholder={placeholder}
      choices={columns.map(({ name, type }) => ({ key: name, text: name, hint: type }))}
    />
  );
}

interface PrincipalsProps {
  title: string;
  /** The label of the field that adds one. */
  each: string;
  value: readonly Named[];
  set: (value: Named[]) => void;
  error: string | undefined;
}

/** Several principals, such as those to whom a policy does not apply although it covers them. */
export function Principals({ title, each, value, set, error }: PrincipalsProps) {
  const [isAdding, setAdding] = useState(false);
  const id = useId();
  return (
    <div className="field">
      <span className="label" id={id}>
        {title}
      </span>
      <div className="row" role="group" aria-labelledby={id}>
        {value.map((one) => (
          <Token
            key={principalParameter(one)}
            label="Remove"
            mark={<Shape of={one} />}
            remove={() => set(value.filter((other) => other !== one))}
          >
            <PrincipalName of={one} />
          </Token>
        ))}
        <Button
          text="Add"
          look="small quiet"
          icon="plus"
          aria-expanded={isAdding}
          onClick={() => setAdding(!isAdding)}
        />
      </div>
      {isAdding && (
        <PrincipalCombobox
          label={each}
          value={null}
          without={['everyone']}
          set={(added) => {
            if (added === null) return;
            setAdding(false);
            const isIn = value.some((one) => principalParameter(one) === principalParameter(added));
            if (!isIn) set([...value, added]);
          }}
        />
      )}
      <FieldHint error={error} />
    </div>
  );
}

function PrincipalName({ of }: { of: Named }) {
  return <>{usePrincipalName(of)}</>;
}
