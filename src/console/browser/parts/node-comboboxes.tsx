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
  const [isTyped, setTyped] = useState(false);
  const { names, total, more } = useNames(under, isTyped ? text : '', !isDisabled, isOwn);
  return (
    <Combobox
      label={label}
      text={text}
      isMono
      isDisabled={isDisabled}
      isBare={isOwn}
      placeholder={isOwn ? label.toLowerCase() : total === null || isTyped ? 'all' : `all ${total}`}
      choices={names.map((name) => ({ key: name, text: name }))}
      more={more}
      setText={(name) => {
        setTyped(true);
        set(name);
      }}
      choose={({ text: name }) => {
        setTyped(false);
        set(name);
      }}
    />
  );
}
