import { useState } from 'react';
import {
  ALSO_CLOSED,
  hasColumn,
  hasExpression,
  type Kind,
  KIND_NAMES,
  type PolicyForm,
} from '../domain/policy-form.js';
import { offeredAt } from '../domain/place-form.js';
import { principalParameter } from '../domain/principal.js';
import { Icon } from './icon.js';
import { NodeComboboxes } from './node-comboboxes.js';
import { PlaceFields } from './place-fields.js';
import { type Named, Shape } from './principal.js';
import { PrincipalCombobox } from './principal-combobox.js';
import { PrivilegeChecks } from './privileges.js';
import { Segments } from './segments.js';
import { TextField } from './text-field.js';

interface PolicyFieldsProps {
  form: PolicyForm;
  change: (part: Partial<PolicyForm>) => void;
  errors: Readonly<Record<string, string>>;
}

const KINDS = Object.entries(KIND_NAMES) as [Kind, string][];

/** The fields of a policy: what it is and for whom, beside where and what it takes. */
export function PolicyFields({ form, change, errors }: PolicyFieldsProps) {
  const { kind } = form;
  return (
    <div className="pair">
      <div className="stack">
        <Segments legend="Kind" choices={KINDS} value={kind} set={(next) => change({ kind: next })} />
        <PrincipalCombobox
          value={form.principal}
          set={(principal) => change({ principal })}
          error={errors['principal'] ?? null}
        />
        <Exceptions value={form.except} set={(except) => change({ except })} error={errors['except'] ?? null} />
        <TextField
          label="Description"
          value={form.description}
          set={(description) => change({ description })}
          rows={2}
        />
      </div>
      <div className="stack">
        {kind === 'deny' ? (
          <PlaceFields form={form} change={change} error={errors['resource'] ?? null} />
        ) : (
          <div className="field">
            <NodeComboboxes value={form} set={change} />
            {errors['resource'] !== undefined && <p className="hint hint--error">{errors['resource']}</p>}
          </div>
        )}
        {hasColumn(kind) && (
          <TextField
            label="Column"
            value={form.column}
            set={(column) => change({ column: column.toLowerCase() })}
            isMono
            error={errors['column'] ?? null}
          />
        )}
        {hasExpression(kind) && (
          <TextField
            label="Expression"
            value={form.expression}
            set={(expression) => change({ expression })}
            rows={3}
            isMono
            hint={kind === 'row_filter' ? 'SQL, true for the rows that stay.' : "SQL of the column's type."}
            error={errors['expression'] ?? null}
          />
        )}
        {kind === 'deny' && (
          <>
            <PrivilegeChecks
              node={offeredAt(form)}
              holder={null}
              value={form.privileges}
              set={(privileges) => change({ privileges })}
              error={errors['privileges'] ?? null}
            />
            <p className="hint">None chosen: all of them are denied.</p>
          </>
        )}
        <p className="hint">{ALSO_CLOSED[kind]} What no rule can close: docs/limits.md.</p>
      </div>
    </div>
  );
}

interface ExceptionsProps {
  value: readonly Named[];
  set: (value: Named[]) => void;
  error: string | null;
}

/** To whom the policy does not apply, though they are among those it names. */
function Exceptions({ value, set, error }: ExceptionsProps) {
  const [isAdding, setAdding] = useState(false);
  return (
    <div className="field">
      <span className="label" id="except">
        Except
      </span>
      <div className="row" role="group" aria-labelledby="except">
        {value.map((each) => (
          <span key={principalParameter(each)} className="token">
            <Shape of={each} />
            <b>{each.name}</b>
            <button
              type="button"
              aria-label={`Remove ${each.name ?? ''}`}
              onClick={() => set(value.filter((other) => other !== each))}
            >
              <Icon name="cross" />
            </button>
          </span>
        ))}
        <button
          className="button button--small button--quiet"
          type="button"
          aria-expanded={isAdding}
          onClick={() => setAdding(!isAdding)}
        >
          <Icon name="plus" />
          Add
        </button>
      </div>
      {isAdding && (
        <PrincipalCombobox
          label="Exception"
          value={null}
          without={['everyone']}
          set={(added) => {
            if (added === null) return;
            setAdding(false);
            const isIn = value.some((each) => principalParameter(each) === principalParameter(added));
            if (!isIn) set([...value, added]);
          }}
        />
      )}
      {error !== null && <p className="hint hint--error">{error}</p>}
    </div>
  );
}
