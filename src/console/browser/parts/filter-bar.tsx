import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useNames } from '../api/catalog.js';
import { countText } from '../domain/count-text.js';
import { DAY_MS, dayText, momentText, parseMoment } from '../domain/moment-text.js';
import { sqlPath } from '../domain/node-path.js';
import { parsePrincipal, principalParameter } from '../domain/principal.js';
import { parseSearch } from '../domain/tree-rows.js';
import { now } from '../now.js';
import { useAddress } from './address.js';
import { type Choice, Combobox, includesText, PrincipalCombobox, PrincipalName } from './combobox.js';
import { Button, Icon } from './controls.js';

/** A filter of a list. Its value is kept in an address parameter, and shown as a token (a label that can be removed). */
export interface Filter {
  parameter: string;
  name: string;
  /** The allowed values with their texts. Without `choices` and `renderField`, any text can be typed. */
  choices?: Readonly<Record<string, string>>;
  /** Suggests values for typed text. The key of a choice becomes the value of the filter. */
  useSuggestions?: (text: string, values: FilterValues) => { choices: readonly Choice[]; moreHint?: string | null };
  /** The problem of a typed text; null if the text is valid. */
  problemOf?: (text: string) => string | null;
  /** Makes a special field in place of the plain one, such as a combobox of people. */
  renderField?: (choose: (value: string) => void) => ReactNode;
  valueText?: (value: string) => ReactNode;
}

/** The address parameter of the search text. */
export const SEARCH = 'q';

/** The filter values in the address, by parameter, and a function that changes one. Values that are not among a filter's choices are left out. */
export function useFilters(filters: readonly Filter[]) {
  const { search, change } = useAddress();
  const values: Record<string, string> = {};
  const text = search.get(SEARCH) ?? '';
  if (text !== '') values[SEARCH] = text;
  for (const { parameter, choices } of filters) {
    const value = search.get(parameter) ?? '';
    if (value !== '' && (choices === undefined || Object.hasOwn(choices, value))) values[parameter] = value;
  }
  /** Sets the value of a filter; an empty value removes the filter. The browser's *back* undoes a filter, but skips half-typed searches. */
  const setFilter = (parameter: string, value: string): void => change({ [parameter]: value }, parameter !== SEARCH);
  return { values: values as FilterValues, setFilter };
}

interface FilterBarProps {
  placeholder: string;
  filters?: readonly Filter[];
  children: ReactNode;
}

/** The bar above a list: the search field, the active filters as tokens, and a button to add a filter. */
export function FilterBar({ placeholder, filters = [], children }: FilterBarProps) {
  const { values, setFilter } = useFilters(filters);
  const unsetFilters = filters.filter(({ parameter }) => values[parameter] === undefined);
  return (
    <div className="filter-bar">
      <Search placeholder={placeholder} query={values[SEARCH] ?? ''} search={(text) => setFilter(SEARCH, text)} />
      {filters.map(({ parameter, name, choices, valueText }) => {
        const value = values[parameter];
        const remove = (): void => setFilter(parameter, '');
        return value === undefined ? null : (
          <RemovableToken key={parameter} remove={remove} label={`Remove ${name}`} prefix={`${name} `}>
            {valueText?.(value) ?? choices?.[value] ?? value}
          </RemovableToken>
        );
      })}
      {unsetFilters.length > 0 && <AddFilter filters={unsetFilters} values={values} setFilter={setFilter} />}
      <p className="hint" role="status">
        {children}
      </p>
    </div>
  );
}

interface SearchProps {
  placeholder: string;
  query: string;
  search: (text: string) => void;
}

/** The search field of a page; the key `/` focuses it. */
export function Search({ placeholder, query, search }: SearchProps) {
  const [text, setText] = useState(query);
  const [lastQuery, setLastQuery] = useState(query);
  const field = useRef<HTMLInputElement>(null);
  // Typing changes `text` first. If `query` changed by other means, such as *back*, the field shows the new query.
  if (query !== lastQuery) {
    setLastQuery(query);
    if (query !== text.trim()) setText(query);
  }
  useEffect(() => {
    if (text.trim() === query) return;
    const timer = setTimeout(() => search(text.trim()), 120);
    return () => clearTimeout(timer);
  });
  useEffect(() => {
    const focusField = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof HTMLElement && event.target.matches('input, textarea, select, [contenteditable]');
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', focusField);
    return () => document.removeEventListener('keydown', focusField);
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

interface TokenProps {
  label: string;
  prefix: ReactNode;
  remove: () => void;
  children: ReactNode;
}

/** A chosen value with a button that removes it. */
export function RemovableToken({ label, prefix, remove, children }: TokenProps) {
  const id = useId();
  return (
    <span className="token">
      {prefix}
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

interface AddFilterProps {
  filters: readonly Filter[];
  values: FilterValues;
  setFilter: (parameter: string, value: string) => void;
}

function AddFilter({ filters, values, setFilter }: AddFilterProps) {
  const [openPanel, setOpenPanel] = useState<'none' | 'list' | Filter>('none');
  const root = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    setOpenPanel('none');
    button.current?.focus();
  };
  return (
    <span
      className="combo"
      ref={root}
      onKeyDown={(event) => {
        if (openPanel !== 'none' && event.key === 'Escape') close();
      }}
      onBlur={(event) => {
        if (event.relatedTarget !== null && root.current?.contains(event.relatedTarget) !== true) setOpenPanel('none');
      }}
    >
      <Button
        text="Add filter"
        look="small quiet"
        icon="filter"
        ref={button}
        aria-expanded={openPanel !== 'none'}
        onClick={() => setOpenPanel(openPanel === 'none' ? 'list' : 'none')}
      />
      {openPanel !== 'none' && (
        <div className="filter-bar__panel" role="group" aria-label="Filters">
          {openPanel === 'list' ? (
            filters.map((filter, index) => (
              <Button
                key={filter.parameter}
                text={filter.name}
                look="quiet"
                autoFocus={index === 0}
                onClick={() => setOpenPanel(filter)}
              />
            ))
          ) : (
            <FilterField
              filter={openPanel}
              values={values}
              set={(value) => {
                close();
                setFilter(openPanel.parameter, value);
              }}
            />
          )}
        </div>
      )}
    </span>
  );
}

function FilterField({ filter, values, set }: { filter: Filter; values: FilterValues; set: (value: string) => void }) {
  const { name, choices: fixedChoices, useSuggestions = noSuggestions, problemOf, renderField } = filter;
  const [text, setText] = useState('');
  const [error, setError] = useState<string>();
  const formRef = useRef<HTMLFormElement>(null);
  useEffect(() => formRef.current?.querySelector('input')?.focus(), []);
  const typedText = text.trim();
  const suggestions = useSuggestions(typedText, values);
  const matchingEntries = Object.entries(fixedChoices ?? {}).filter(([, label]) => includesText(typedText, label));
  const matchingChoices = matchingEntries.map(([key, label]) => ({ key, text: label }));
  const isFreeText = fixedChoices === undefined && renderField === undefined;
  const applyText = (): void => {
    const problem = problemOf?.(typedText) ?? null;
    if (problem !== null) setError(problem);
    else if (typedText !== '') set(typedText);
  };
  return (
    <form
      className="row"
      ref={formRef}
      onSubmit={(event) => {
        event.preventDefault();
        if (isFreeText) applyText();
      }}
    >
      {renderField?.(set) ?? (
        <Combobox
          label={name}
          text={text}
          setText={(newText) => {
            setText(newText);
            setError(undefined);
          }}
          isInitiallyOpen
          isChoiceRequired={fixedChoices !== undefined}
          choices={fixedChoices === undefined ? suggestions.choices : matchingChoices}
          moreHint={suggestions.moreHint ?? null}
          choose={({ key }) => set(key)}
          error={error}
        />
      )}
      {isFreeText && (
        <Button look="small" type="submit">
          Apply<span className="hidden"> {name}</span>
        </Button>
      )}
    </form>
  );
}

const noSuggestions: Exclude<Filter['useSuggestions'], undefined> = () => ({ choices: [] });

/** A filter whose value is a moment or a day, in the time zone of the browser. @param days the suggested days, relative to today */
export function momentFilter(parameter: string, name: string, days: readonly number[] = [0, -1, -7, -30]): Filter {
  const dayChoice = (offset: number): Choice => {
    const day = dayText(new Date(now().getTime() + offset * DAY_MS));
    const hint = offset === 0 ? 'today' : `${countText(Math.abs(offset), 'day')} ${offset < 0 ? 'ago' : 'ahead'}`;
    return { key: day, text: day, hint };
  };
  return {
    parameter,
    name,
    useSuggestions: (text) => ({ choices: days.map(dayChoice).filter((choice) => choice.text.startsWith(text)) }),
    problemOf: (text) =>
      parseMoment(text) === null ? `Write it like ${dayChoice(0).text}, or ${dayChoice(0).text} 06:00.` : null,
    valueText: (value) => {
      const moment = parseMoment(value);
      return moment === null ? value : momentText(moment, now());
    },
  };
}

/** Filter values for the API: the values of these parameters become timestamps. Invalid ones are left out. */
export function withMoments(values: FilterValues, ...parameters: string[]): FilterValues {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const moment = parameters.includes(name) ? parseMoment(value)?.toISOString() : value;
      return moment === undefined ? [] : [[name, moment]];
    }),
  );
}

/** A filter whose value is a name on one level of the tree. Suggests names below the values of the filters `parentParameters`. */
const nameFilter = (parameter: string, name: string, parentParameters: readonly string[]): Filter => ({
  parameter,
  name,
  useSuggestions: (text, values) => {
    const parentPath = parentParameters.map((parameter) => values[parameter] ?? '');
    const { names, moreHint } = useNames(parentPath, text, !parentPath.includes(''), false);
    return { choices: names.map((each) => ({ key: each, text: each })), moreHint };
  },
});

type Kinds = ComponentProps<typeof PrincipalCombobox>['excludedKinds'];

export function principalText(value: string): ReactNode {
  const principal = parsePrincipal(value);
  return principal === null ? value : <PrincipalName principal={principal} />;
}

/** A filter whose value is a principal: `group:3`. */
export function principalFilter(parameter: string, name: string, label?: string, excludedKinds: Kinds = []): Filter {
  return {
    parameter,
    name,
    renderField: (choose) => (
      <PrincipalCombobox
        {...(label !== undefined && { label })}
        value={null}
        excludedKinds={excludedKinds}
        set={(value) => value !== null && choose(principalParameter(value))}
      />
    ),
    valueText: principalText,
  };
}

/** Filters of grants and policies: by principal, and by node. */
export const ENTRY_FILTERS: readonly Filter[] = [
  principalFilter('principal', 'Holder'),
  {
    parameter: 'covering',
    name: 'Covers',
    useSuggestions: (text) => {
      const { parentPath, namePart } = parseSearch([], text);
      const { names, moreHint } = useNames(parentPath, namePart, true, false);
      const paths = names.map((each) => sqlPath([...parentPath, each]));
      return { choices: paths.map((path) => ({ key: path, text: path })), moreHint };
    },
  },
  nameFilter('catalog', 'Catalog', []),
  nameFilter('schema', 'Schema', ['catalog']),
  nameFilter('table', 'Table', ['catalog', 'schema']),
];

export type FilterValues = Readonly<Record<string, string>>;

/** The API's query parameters for filter values. Leaves out a malformed principal. */
export function entryQueryOf({ principal = '', ...otherFilters }: FilterValues) {
  return { ...otherFilters, ...(parsePrincipal(principal) !== null && { principal }) };
}
