import { type ComponentProps, useId } from 'react';
import {
  grantProblem,
  type Node,
  nodeOfForm,
  NODE_KINDS,
  type NodeForm,
  type Privilege,
  privilegesOn,
} from '../domain/grant-form.js';
import type { PrincipalRef } from './display.js';
import { Checkbox, FieldHint, Segments } from './form.js';
import { NodeComboboxes } from './node-comboboxes.js';
import { PrincipalCombobox } from './principal-combobox.js';

interface NodeFieldsProps {
  form: NodeForm;
  change: (changes: Partial<NodeForm>) => void;
  error: string | undefined;
}

export function NodeFields(props: NodeFieldsProps) {
  const { form, change } = props;
  return (
    <>
      <Segments legend="On" choices={NODE_KINDS} value={form.nodeKind} set={(nodeKind) => change({ nodeKind })} />
      <FieldsOfKind {...props} />
    </>
  );
}

function FieldsOfKind({ form, change, error }: NodeFieldsProps) {
  if (form.nodeKind === 'engine') return <p className="hint">On the engine itself, whatever data there is.</p>;
  if (form.nodeKind === 'queries')
    return (
      <PrincipalCombobox label="Whose" value={form.queries} set={(queries) => change({ queries })} error={error} />
    );
  if (form.nodeKind === 'acting')
    return <PrincipalCombobox label="As" value={form.as} set={(as) => change({ as })} error={error} />;
  return (
    <NameFields
      value={form}
      set={change}
      lastLevel={form.nodeKind === 'routine' ? 'routine' : 'table'}
      hint={form.nodeKind === 'data' ? coverageText(nodeOfForm(form) ?? {}) : undefined}
      error={error}
    />
  );
}

interface NameFieldsProps extends ComponentProps<typeof NodeComboboxes> {
  hint?: string | undefined;
  error: string | undefined;
}

/** The fields for the names of a node, with their error or hint below. */
export function NameFields({ hint, error, ...comboboxes }: NameFieldsProps) {
  const id = useId();
  const hasHint = hint !== undefined || error !== undefined;
  return (
    <div className="field" role="group" aria-label="Where" aria-describedby={hasHint ? id : undefined}>
      <NodeComboboxes {...comboboxes} />
      <FieldHint id={id} hint={hint} error={error} />
    </div>
  );
}

function coverageText({ catalog, schema, table }: { catalog?: string; schema?: string; table?: string }): string {
  if (catalog === undefined) return 'Covers everything: all data catalogs, and later ones.';
  if (table !== undefined) return `Covers the table ${catalog}.${schema ?? ''}.${table}.`;
  return `Covers all tables of ${schema === undefined ? catalog : `${catalog}.${schema}`}, and later ones.`;
}

interface PrivilegeChecksProps {
  node: Node;
  /** The principal that gets the privileges; null: none is chosen, so no privilege is ruled out. */
  holder: PrincipalRef | null;
  value: readonly Privilege[];
  set: (value: Privilege[]) => void;
  error?: string | undefined;
}

/** A checkbox for each privilege that can be given on a node. */
export function PrivilegeChecks({ node, holder, value, set, error }: PrivilegeChecksProps) {
  const id = useId();
  const offeredPrivileges = privilegesOn(node);
  const problems = offeredPrivileges.flatMap((each) => grantProblem(each, holder) ?? []);
  return (
    <fieldset className="field" aria-describedby={error === undefined ? undefined : id}>
      <legend>Privileges</legend>
      <div className="checks">
        {offeredPrivileges.map((privilege) => (
          <Checkbox
            key={privilege}
            value={privilege}
            values={value}
            set={set}
            isDisabled={grantProblem(privilege, holder) !== null}
          />
        ))}
      </div>
      {problems.map((problem) => (
        <p key={problem} className="hint">
          {problem}.
        </p>
      ))}
      <FieldHint id={id} error={error} />
    </fieldset>
  );
}
