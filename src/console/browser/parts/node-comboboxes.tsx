import { useState } from 'react';
import { useNames } from '../api/catalog.js';
import { EMPTY_NAMES, type NodeNames, nodeAt } from '../domain/node-path.js';
import { Combobox } from './combobox.js';
import { TextField } from './form.js';

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
  /** The kind of node that the last field names. */
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
