import { useId, useState } from 'react';
import { useColumns } from '../api/statements.js';
import { offeredNode } from '../domain/grant-form.js';
import {
  ALSO_CLOSED_TEXTS,
  hasColumn,
  hasExpression,
  type PolicyKind,
  POLICY_KIND_NAMES,
  type PolicyForm,
} from '../domain/policy-form.js';
import { sqlPath } from '../domain/node-path.js';
import { principalParameter } from '../domain/principal.js';
import { useDebounced } from './address.js';
import { Combobox, PrincipalCombobox, PrincipalName } from './combobox.js';
import { Button } from './controls.js';
import { type PrincipalRef, PrincipalIcon } from './display.js';
import { RemovableToken } from './filter-bar.js';
import { FieldHint, fieldsOf, type FieldsProps, Segments, TextField } from './form.js';
import { NameFields, NodeFields, PrivilegeChecks, useTypedName } from './node-fields.js';

const KIND_CHOICES = Object.entries(POLICY_KIND_NAMES) as [PolicyKind, string][];

/** The form fields of a policy: kind, principal, node and restriction. */
export function PolicyFields({ form, change, errors }: FieldsProps<PolicyForm>) {
  const { kind } = form;
  const field = fieldsOf(form, change, errors);
  return (
    <div className="pair">
      <div className="stack">
        <Segments legend="Kind" choices={KIND_CHOICES} {...field('kind')} />
        <PrincipalCombobox {...field('principal')} />
        <PrincipalsField title="Except" addLabel="Exception" {...field('except')} />
        <TextField label="Description" {...field('description')} rows={2} />
      </div>
      <div className="stack">
        {kind === 'deny' ? (
          <NodeFields form={form} change={change} error={errors['resource']} />
        ) : (
          <NameFields value={form} set={change} error={errors['resource']} />
        )}
        {hasColumn(kind) && <ColumnCombobox tablePath={[form.catalog, form.schema, form.table]} {...field('column')} />}
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
            <p className="hint">If none is chosen, all of them are denied.</p>
          </>
        )}
        <p className="hint">{ALSO_CLOSED_TEXTS[kind]} What no rule can close: docs/limits.md.</p>
      </div>
    </div>
  );
}

interface ColumnComboboxProps {
  /** Catalog, schema and table. An empty name among them means that no table is chosen yet. */
  tablePath: readonly string[];
  value: string;
  set: (column: string) => void;
  error: string | undefined;
  placeholder?: string;
}

/** A field for a column of a table. Suggests the columns that the engine lists; other names can be typed. */
export function ColumnCombobox({ tablePath, value, set, error, placeholder }: ColumnComboboxProps) {
  const { typedText, field } = useTypedName(value, (column) => set(column.toLowerCase()));
  const columns = useColumns(useDebounced(tablePath.includes('') ? '' : sqlPath(tablePath), 300)).filter(({ name }) =>
    name.includes(typedText ?? ''),
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

interface PrincipalsFieldProps {
  title: string;
  addLabel: string;
  value: readonly PrincipalRef[];
  set: (value: PrincipalRef[]) => void;
  error: string | undefined;
}

/** A field for several principals, such as the exceptions of a policy. */
export function PrincipalsField({ title, addLabel, value, set, error }: PrincipalsFieldProps) {
  const [isAdding, setAdding] = useState(false);
  const id = useId();
  return (
    <div className="field">
      <span className="label" id={id}>
        {title}
      </span>
      <div
        className="row"
        role="group"
        aria-labelledby={id}
        aria-describedby={error === undefined ? undefined : `${id}-hint`}
      >
        {value.map((principal) => (
          <RemovableToken
            key={principalParameter(principal)}
            label="Remove"
            prefix={<PrincipalIcon principal={principal} />}
            remove={() => set(value.filter((other) => other !== principal))}
          >
            <PrincipalName principal={principal} />
          </RemovableToken>
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
          label={addLabel}
          value={null}
          excludedKinds={['everyone']}
          set={(principal) => {
            if (principal === null) return;
            setAdding(false);
            const isIncluded = value.some((other) => principalParameter(other) === principalParameter(principal));
            if (!isIncluded) set([...value, principal]);
          }}
        />
      )}
      <FieldHint id={`${id}-hint`} error={error} />
    </div>
  );
}
