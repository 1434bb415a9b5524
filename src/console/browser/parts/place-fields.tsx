import {
  grantProblem,
  type Node,
  nodeOfForm,
  type Place,
  type PlaceForm,
  type Privilege,
  privilegesOn,
} from '../domain/grant-form.js';
import type { Named } from './display.js';
import { Check, FieldHint, Segments } from './form.js';
import { NodeComboboxes } from './node-comboboxes.js';
import { PrincipalCombobox } from './principal-combobox.js';

const PLACES: readonly (readonly [Place, string])[] = [
  ['data', 'Data'],
  ['routine', 'Routine'],
  ['engine', 'Engine'],
  ['queries', 'Queries of'],
  ['acting', 'Acting as'],
];

interface PlaceFieldsProps {
  form: PlaceForm;
  change: (part: Partial<PlaceForm>) => void;
  error: string | undefined;
}

/** The node of a grant or a deny. */
export function PlaceFields(props: PlaceFieldsProps) {
  const { form, change } = props;
  return (
    <>
      <Segments legend="On" choices={PLACES} value={form.place} set={(place) => change({ place })} />
      <NodeFields {...props} />
    </>
  );
}

function NodeFields({ form, change, error }: PlaceFieldsProps) {
  if (form.place === 'engine') return <p className="hint">On the engine itself, whatever data there is.</p>;
  if (form.place === 'queries')
    return (
      <PrincipalCombobox label="Whose" value={form.queries} set={(queries) => change({ queries })} error={error} />
    );
  if (form.place === 'acting')
    return <PrincipalCombobox label="As" value={form.as} set={(as) => change({ as })} error={error} />;
  return (
    <div className="field">
      <NodeComboboxes value={form} set={change} last={form.place === 'routine' ? 'routine' : 'table'} />
      <FieldHint hint={form.place === 'data' ? coverText(nodeOfForm(form) ?? {}) : undefined} error={error} />
    </div>
  );
}

function coverText({ catalog, schema, table }: { catalog?: string; schema?: string; table?: string }): string {
  if (catalog === undefined) return 'Covers everything: all data catalogs, and later ones.';
  if (table !== undefined) return `Covers the table ${catalog}.${schema ?? ''}.${table}.`;
  return `Covers all tables of ${schema === undefined ? catalog : `${catalog}.${schema}`}, and later ones.`;
}

interface PrivilegeChecksProps {
  node: Node;
  /** Null: anybody. */
  holder: Named | null;
  value: readonly Privilege[];
  set: (value: Privilege[]) => void;
  error?: string | undefined;
}

/** A checkbox for each privilege that can be given on a node. */
export function PrivilegeChecks({ node, holder, value, set, error }: PrivilegeChecksProps) {
  const open = privilegesOn(node);
  const problems = open.flatMap((each) => grantProblem(each, holder) ?? []);
  return (
    <fieldset className="field">
      <legend>Privileges</legend>
      <div className="checks">
        {open.map((privilege) => (
          <Check
            key={privilege}
            value={privilege}
            all={value}
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
      <FieldHint error={error} />
    </fieldset>
  );
}
