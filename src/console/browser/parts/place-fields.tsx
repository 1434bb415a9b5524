import { nodeOfForm, type Place, type PlaceForm } from '../domain/place-form.js';
import { NodeComboboxes } from './node-comboboxes.js';
import { PrincipalCombobox } from './principal-combobox.js';
import { Segments } from './segments.js';

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
  error: string | null;
}

/** What a grant or a deny is on: data, or something beside it. */
export function PlaceFields(props: PlaceFieldsProps) {
  const { form, change } = props;
  return (
    <>
      <Segments legend="On" choices={PLACES} value={form.place} set={(place) => change({ place })} />
      <Where {...props} />
    </>
  );
}

function Where({ form, change, error }: PlaceFieldsProps) {
  if (form.place === 'engine') return <p className="hint">On the engine itself, whatever data there is.</p>;
  if (form.place === 'queries') {
    return (
      <PrincipalCombobox label="Whose" value={form.queries} set={(queries) => change({ queries })} error={error} />
    );
  }
  if (form.place === 'acting') {
    return <PrincipalCombobox label="As" value={form.as} set={(as) => change({ as })} error={error} />;
  }
  return (
    <div className="field">
      <NodeComboboxes value={form} set={change} last={form.place === 'routine' ? 'routine' : 'table'} />
      {error !== null ? (
        <p className="hint hint--error">{error}</p>
      ) : (
        form.place === 'data' && <p className="hint">{coverText(nodeOfForm(form) ?? {})}</p>
      )}
    </div>
  );
}

function coverText({ catalog, schema, table }: { catalog?: string; schema?: string; table?: string }): string {
  if (catalog === undefined) return 'Covers everything: all data catalogs, and later ones.';
  if (table !== undefined) return `Covers the table ${catalog}.${schema ?? ''}.${table}.`;
  return `Covers all tables of ${schema === undefined ? catalog : `${catalog}.${schema}`}, and later ones.`;
}
