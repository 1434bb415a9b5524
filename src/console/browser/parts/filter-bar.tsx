import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { parsePrincipal, principalParameter } from '../domain/principal.js';
import { useAddress } from './address.js';
import { Button, Icon } from './controls.js';
import { TextField } from './form.js';
import { PrincipalCombobox, usePrincipalName } from './principal-combobox.js';

/** A filter of a list: a parameter of the address, shown as a token. */
export interface Filter {
  parameter: string;
  /** The name on its token. */
  name: string;
  /** Texts by value; without them, and without a field, text is typed. */
  choices?: Readonly<Record<string, string>>;
  /** The type of a field for text. */
  type?: 'text' | 'datetime-local';
  /** A field of its own, such as a combobox of people. */
  field?: (choose: (value: string) => void) => ReactNode;
  /** The text of a value on its token. */
  show?: (value: string) => ReactNode;
}

/** The parameter of the search. */
export const SEARCH = 'q';

/** Filter values of the address, by parameter, and how to change one. Values that a filter does not have are left out. */
export function useFilters(filters: readonly Filter[]) {
  const { search, change } = useAddress();
  const asked: Record<string, string> = {};
  const text = search.get(SEARCH) ?? '';
  if (text !== '') asked[SEARCH] = text;
  for (const { parameter, choices } of filters) {
    const value = search.get(parameter) ?? '';
    if (value !== '' && (choices === undefined || Object.hasOwn(choices, value))) asked[parameter] = value;
  }
  /** An empty value removes the filter. A search replaces the address, so that *back* skips half-typed words. */
  const ask = (parameter: string, value: string): void => change({ [parameter]: value }, parameter !== SEARCH);
  return { asked: asked as Asked, ask };
}

interface FilterBarProps {
  /** For example *Search people*. */
  placeholder: string;
  filters?: readonly Filter[];
  /** The number of entries. */
  children: ReactNode;
}

/** Above a list: the search, the filters as tokens, and a way to add one. The address holds all of it. */
export function FilterBar({ placeholder, filters = [], children }: FilterBarProps) {
  const { asked, ask } = useFilters(filters);
  const others = filters.filter(({ parameter }) => asked[parameter] === undefined);
  return (
    <div className="filter-bar">
      <Search placeholder={placeholder} asked={asked[SEARCH] ?? ''} ask={(text) => ask(SEARCH, text)} />
      {filters.map((filter) => (
        <FilterToken
          key={filter.parameter}
          filter={filter}
          value={asked[filter.parameter]}
          remove={() => ask(filter.parameter, '')}
        />
      ))}
      {others.length > 0 && <AddFilter filters={others} ask={ask} />}
      <p className="hint" role="status">
        {children}
      </p>
    </div>
  );
}

interface SearchProps {
  placeholder: string;
  asked: string;
  ask: (text: string) => void;
}

/** Milliseconds without a key after which a word counts as typed. */
const TYPED = 120;

/** The one search of a page; `/` focuses it. */
export function Search({ placeholder, asked, ask }: SearchProps) {
  const [text, setText] = useState(asked);
  const [before, setBefore] = useState(asked);
  const field = useRef<HTMLInputElement>(null);
  // The address has changed by other means, such as *back*.
  if (asked !== before) {
    setBefore(asked);
    if (asked !== text.trim()) setText(asked);
  }
  useEffect(() => {
    if (text.trim() === asked) return;
    const timer = setTimeout(() => ask(text.trim()), TYPED);
    return () => clearTimeout(timer);
  });
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof HTMLElement && event.target.matches('input, textarea, select, [contenteditable]');
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  return (
    <span className="affix">
      <Icon name="search" />
      <input
        className="input"
        ref={field}
        type="text"
        inputMode="search"
        aria-label="Search"
        placeholder={placeholder}
        autoComplete="off"
        spellCheck={false}
        maxLength={254}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </span>
  );
}

interface FilterTokenProps {
  filter: Filter;
  value: string | undefined;
  remove: () => void;
}

function FilterToken({ filter: { name, choices, show }, value, remove }: FilterTokenProps) {
  if (value === undefined) return null;
  return (
    <Token remove={remove} label={`Remove ${name}`} mark={`${name} `}>
      {show?.(value) ?? choices?.[value] ?? value}
    </Token>
  );
}

interface TokenProps {
  /** The name of its button, before the value. */
  label: string;
  /** Stands before the value. */
  mark: ReactNode;
  remove: () => void;
  /** The value. */
  children: ReactNode;
}

/** A value that was chosen, with a button that removes it. */
export function Token({ label, mark, remove, children }: TokenProps) {
  const id = useId();
  return (
    <span className="token">
      {mark}
      <b id={id}>{children}</b>
      <button
        type="button"
        id={`${id}-remove`}
        aria-label={label}
        aria-labelledby={`${id}-remove ${id}`}
        onClick={remove}
      >
        <Icon name="cross" />
      </button>
    </span>
  );
}

/** Opens the fields of all filters that are not set; a chosen value closes them. */
function AddFilter({ filters, ask }: { filters: readonly Filter[]; ask: (parameter: string, value: string) => void }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <span
      className="combo"
      ref={root}
      onKeyDown={(event) => {
        if (isOpen && event.key === 'Escape') close();
      }}
      onBlur={(event) => {
        if (event.relatedTarget !== null && root.current?.contains(event.relatedTarget) !== true) setOpen(false);
      }}
    >
      <Button
        text="Add filter"
        look="small quiet"
        icon="filter"
        ref={button}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      />
      {isOpen && (
        <div className="filter-bar__panel" role="group" aria-label="Filters">
          {filters.map((filter, index) => (
            <FilterField
              key={filter.parameter}
              filter={filter}
              isFirst={index === 0}
              choose={(value) => {
                close();
                ask(filter.parameter, value);
              }}
            />
          ))}
        </div>
      )}
    </span>
  );
}

interface FilterFieldProps {
  filter: Filter;
  isFirst: boolean;
  choose: (value: string) => void;
}

function FilterField({ filter: { name, choices, type = 'text', field }, isFirst, choose }: FilterFieldProps) {
  const [text, setText] = useState('');
  const id = useId();
  if (field !== undefined) return field(choose);
  if (choices === undefined) {
    return (
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '') choose(text.trim());
        }}
      >
        <TextField label={name} type={type} value={text} set={setText} autoFocus={isFirst} />
        <Button look="small" type="submit">
          Apply<span className="hidden"> {name}</span>
        </Button>
      </form>
    );
  }
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {name}
      </label>
      <select className="input" id={id} autoFocus={isFirst} value="" onChange={(event) => choose(event.target.value)}>
        <option value="">Any</option>
        {Object.entries(choices).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Filters of grants and policies: by principal, and by node. */
export const ENTRY_FILTERS: readonly Filter[] = [
  {
    parameter: 'principal',
    name: 'Holder',
    field: (choose) => (
      <PrincipalCombobox
        value={null}
        set={(value) => {
          if (value !== null) choose(principalParameter(value));
        }}
      />
    ),
    show: (value) => <PrincipalName parameter={value} />,
  },
  { parameter: 'covering', name: 'Covers' },
  { parameter: 'catalog', name: 'Catalog' },
  { parameter: 'schema', name: 'Schema' },
  { parameter: 'table', name: 'Table' },
];

export type Asked = Readonly<Record<string, string>>;

/** The query of the API for the filters of the address. */
export function entryQueryOf({ principal = '', ...rest }: Asked) {
  return { ...rest, ...(parsePrincipal(principal) !== null && { principal }) };
}

/** The name of a principal in the address; others as they are: *grant 7*. */
export function PrincipalName({ parameter }: { parameter: string }) {
  return <>{usePrincipalName(parsePrincipal(parameter)) || parameter.replace(':', ' ')}</>;
}
