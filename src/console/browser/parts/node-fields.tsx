import { type ComponentProps, useId, useState } from 'react';
import { useNames } from '../api/catalog.js';
import * as grants from '../domain/grant-form.js';
import { EMPTY_NAMES, type NodeNames, nodeAt } from '../domain/node-path.js';
import { Combobox, PrincipalCombobox } from './combobox.js';
import type { PrincipalRef } from './display.js';
import { Checkbox, FieldHint, Segments, TextField } from './form.js';

interface NodeFieldsProps {
  form: grants.NodeForm;
  change: (changes: Partial<grants.NodeForm>) => void;
  error: string | undefined;
}

export function NodeFields(props: NodeFieldsProps) {
  const { form, change } = props;
  return (
    <>
      <Segments
        legend="On"
        choices={grants.NODE_KINDS}
        value={form.nodeKind}
        set={(nodeKind) => change({ nodeKind })}
      />
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
      hint={form.nodeKind === 'data' ? coverageText(grants.nodeOfForm(form) ?? {}) : undefined}
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
  node: grants.Node;
  /** The principal that gets the privileges; null: none is chosen, so no privilege is ruled out. */
  holder: PrincipalRef | null;
  value: readonly grants.Privilege[];
  set: (value: grants.Privilege[]) => void;
  error?: string | undefined;
}

/** A checkbox for each privilege that can be given on a node. */
export function PrivilegeChecks({ node, holder, value, set, error }: PrivilegeChecksProps) {
  const id = useId();
  const offeredPrivileges = grants.privilegesOn(node);
  const problems = offeredPrivileges.flatMap((each) => grants.grantProblem(each, holder) ?? []);
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
            isDisabled={grants.grantProblem(privilege, holder) !== null}
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

const LEVELS = [
  ['Catalog', 'catalog', []],
  ['Schema', 'schema', ['catalog']],
  ['Table', 'table', ['catalog', 'schema']],
] as const;

interface NamesWithRoutine extends NodeNames {
  routine?: string;
}

interface NodeComboboxesProps {
  value: NamesWithRoutine;
  set: (names: NamesWithRoutine) => void;
  lastLevel?: 'table' | 'routine';
}

/** Fields for catalog, schema, and table or routine, side by side. Names that are not suggested can be typed. */
export function NodeComboboxes({ value, set, lastLevel = 'table' }: NodeComboboxesProps) {
  const { catalog, schema, table } = value;
  // Clearing a level clears the levels below it.
  const setName = (level: keyof NodeNames, name: string): void => {
    const names = { catalog, schema, table, [level]: name.toLowerCase() };
    set({ ...EMPTY_NAMES, ...nodeAt([names.catalog, names.schema, names.table]) });
  };
  return (
    <div className="trio">
      {LEVELS.slice(0, lastLevel === 'table' ? 3 : 2).map(([label, level, parentLevels]) => (
        <NameCombobox
          key={level}
          label={label}
          text={value[level]}
          isDisabled={parentLevels.some((each) => value[each] === '')}
          parentPath={parentLevels.map((each) => value[each])}
          set={(name) => setName(level, name)}
        />
      ))}
      {lastLevel === 'routine' && (
        <TextField
          label="Routine"
          value={value.routine ?? ''}
          set={(routine) => set({ catalog, schema, table: '', routine: routine.trim().toLowerCase() })}
          isMono
          isDisabled={schema === ''}
          placeholder="all"
        />
      )}
    </div>
  );
}

/** Props of a combobox for a name that can be typed or chosen. `typedText` filters the choices; null: all choices are offered. */
export function useTypedName(text: string, set: (name: string) => void) {
  const [isTyped, setTyped] = useState(false);
  const setText = (name: string): void => {
    setTyped(true);
    set(name);
  };
  const choose = (choice: { text: string }): void => {
    setTyped(false);
    set(choice.text);
  };
  // A pasted name often ends with a space, which nobody sees.
  const onBlur = (): void => {
    if (isTyped && text !== text.trim()) set(text.trim());
  };
  return { typedText: isTyped ? text : null, field: { text, setText, choose, onBlur, isMono: true } };
}

interface NameComboboxProps {
  label: string;
  text: string;
  isDisabled: boolean;
  parentPath: readonly string[];
  set: (name: string) => void;
  /** Whether only names that the signed-in person may see are offered. The placeholder then replaces the label. */
  isForOwnNames?: boolean;
}

/** A field for the name of a child of a node. */
export function NameCombobox({ label, text, isDisabled, parentPath, set, isForOwnNames = false }: NameComboboxProps) {
  const { typedText, field } = useTypedName(text, set);
  const { names, total, moreHint } = useNames(parentPath, typedText ?? '', !isDisabled, isForOwnNames);
  return (
    <Combobox
      {...field}
      label={label}
      isDisabled={isDisabled}
      isLabelHidden={isForOwnNames}
      placeholder={isForOwnNames ? label.toLowerCase() : total === null || typedText !== null ? 'all' : `all ${total}`}
      choices={names.map((name) => ({ key: name, text: name }))}
      moreHint={moreHint}
    />
  );
}
