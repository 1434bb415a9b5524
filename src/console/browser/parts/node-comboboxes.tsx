import { useState } from 'react';
import { useNames } from '../api/names.js';
import { Combobox } from './combobox.js';

/** Names of a node of the tree, from the top; what is empty means all. */
export interface NodeNames {
  catalog: string;
  schema: string;
  table: string;
}

export const NO_NAMES: NodeNames = { catalog: '', schema: '', table: '' };

/** The node that names stand for. */
export function nodeOfNames({ catalog, schema, table }: NodeNames) {
  if (catalog === '') return {};
  if (schema === '') return { catalog };
  return table === '' ? { catalog, schema } : { catalog, schema, table };
}

const LEVELS = [
  ['Catalog', 'catalog', []],
  ['Schema', 'schema', ['catalog']],
  ['Table', 'table', ['catalog', 'schema']],
] as const;

/** The three fields of a path, side by side. Names that nobody knows yet can be typed. */
export function NodeComboboxes({ value, set }: { value: NodeNames; set: (value: NodeNames) => void }) {
  return (
    <div className="trio">
      {LEVELS.map(([label, level, above]) => (
        <NameCombobox
          key={level}
          label={label}
          text={value[level]}
          isDisabled={above.some((each) => value[each] === '')}
          under={above.map((each) => value[each])}
          set={(name) => set(cleared({ ...value, [level]: name.toLowerCase() }))}
        />
      ))}
    </div>
  );
}

/** Nothing is named below a level that is not. */
function cleared(names: NodeNames): NodeNames {
  return { ...NO_NAMES, ...nodeOfNames(names) };
}

interface NameComboboxProps {
  label: string;
  text: string;
  isDisabled: boolean;
  under: readonly string[];
  set: (name: string) => void;
}

function NameCombobox({ label, text, isDisabled, under, set }: NameComboboxProps) {
  const [isTyped, setTyped] = useState(false);
  const names = useNames(under, isTyped ? text : '', !isDisabled);
  return (
    <Combobox
      label={label}
      text={text}
      isMono
      isDisabled={isDisabled}
      placeholder="all"
      choices={names.map((name) => ({ key: name, text: name }))}
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
