import { useState } from 'react';
import { useNames } from '../api/catalog.js';
import { NO_NAMES, type NodeNames, nodeOfNames } from '../domain/node-path.js';
import { Combobox } from './combobox.js';
import { TextField } from './form.js';

const ABOVE = [
  ['Catalog', 'catalog', []],
  ['Schema', 'schema', ['catalog']],
  ['Table', 'table', ['catalog', 'schema']],
] as const;

interface Names extends NodeNames {
  routine?: string;
}

interface NodeComboboxesProps {
  value: Names;
  set: (part: Names) => void;
  /** The kind of the last name. */
  last?: 'table' | 'routine';
}

/** The fields of a path, side by side. Unknown names can be typed. */
export function NodeComboboxes({ value, set, last = 'table' }: NodeComboboxesProps) {
  const { catalog, schema, table } = value;
  // Clearing a level clears the levels below it.
  const setName = (level: keyof NodeNames, name: string): void =>
    set({ ...NO_NAMES, ...nodeOfNames({ catalog, schema, table, [level]: name.toLowerCase() }) });
  return (
    <div className="trio">
      {ABOVE.slice(0, last === 'table' ? 3 : 2).map(([label, level, above]) => (
        <NameCombobox
          key={level}
          label={label}
          text={value[level]}
          isDisabled={above.some((each) => value[each] === '')}
          under={above.map((each) => value[each])}
          set={(name) => setName(level, name)}
        />
      ))}
      {last === 'routine' && (
        <TextField
          label="Routine"
          value={value.routine ?? ''}
          set={(routine) => set({ catalog, schema, table: '', routine: routine.toLowerCase() })}
          isMono
          isDisabled={schema === ''}
          placeholder="all"
        />
      )}
    </div>
  );
}

/** A name that is typed or chosen. `typed` filters the choices; null: all are offered. */
export function useTypedName(text: string, set: (name: string) => void) {
  const [isTyped, setTyped] = useState(false);
  const take = (name: string, isByKeys: boolean): void => {
    setTyped(isByKeys);
    set(name);
  };
  const setText = (name: string): void => take(name, true);
  const choose = (choice: { text: string }): void => take(choice.text, false);
  return { typed: isTyped ? text : null, field: { text, setText, choose, isMono: true } };
}

interface NameComboboxProps {
  label: string;
  text: string;
  isDisabled: boolean;
  under: readonly string[];
  set: (name: string) => void;
  /** Offers only names that the person who is signed in may see; the placeholder is the label. */
  isOwn?: boolean;
}

/** A name of a child of a node. */
export function NameCombobox({ label, text, isDisabled, under, set, isOwn = false }: NameComboboxProps) {
  const { typed, field } = useTypedName(text, set);
  const { names, total, more } = useNames(under, typed ?? '', !isDisabled, isOwn);
  return (
    <Combobox
      {...field}
      label={label}
      isDisabled={isDisabled}
      isBare={isOwn}
      placeholder={isOwn ? label.toLowerCase() : total === null || typed !== null ? 'all' : `all ${total}`}
      choices={names.map((name) => ({ key: name, text: name }))}
      more={more}
    />
  );
}
