import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { useNames } from '../api/catalog.js';
import { countText } from '../domain/count-text.js';
import { dayText, momentText, parseMoment } from '../domain/moment-text.js';
import { sqlPath } from '../domain/node-path.js';
import { parsePrincipal, principalParameter } from '../domain/principal.js';
import { treeSearch } from '../domain/tree-rows.js';
import { now } from '../now.js';
import { useAddress } from './address.js';
import { type Choice, Combobox } from './combobox.js';
import { Button, Icon } from './controls.js';
import { isPart, PrincipalCombobox, usePrincipalName } from './principal-combobox.js';

/** A filter of a list: a parameter of the address, shown as a token. */
export interface Filter {
  parameter: string;
  /** The name on its token. */
  name: string;
  /** Texts by value; without them, and without a field, any text can be typed. */
  choices?: Readonly<Record<string, string>>;
  /** Offers values for typed text; the keys are the values. */
  useSuggestions?: (text: string, asked: Asked) => { choices: readonly Choice[]; more?: string | null };
  /** Why a typed text is no value. */
  problem?: (text: string) => string | null;
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
      {filters.map(({ parameter, name, choices, show }) => {
        const value = asked[parameter];
        return value === undefined ? null : (
          <Token key={parameter} remove={() => ask(parameter, '')} label={`Remove ${name}`} mark={`${name} `}>
            {show?.(value) ?? choices?.[value] ?? value}
          </Token>
        );
      })}
      {others.length > 0 && <AddFilter filters={others} asked={asked} ask={ask} />}
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

interface TokenProps {
  /** The name of its button, before the value. */
  label: string;
  /** Shown before the value. */
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

interface AddFilterProps {
  filters: readonly Filter[];
  asked: Asked;
  ask: (parameter: string, value: string) => void;
}

/** Opens a list of the filters that are not set, then the field of the one that is chosen. */
function AddFilter({ filters, asked, ask }: AddFilterProps) {
  const [opened, open] = useState<'none' | 'list' | Filter>('none');
  const root = useRef<HTMLSpanElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    open('none');
    button.current?.focus();
  };
  return (
    <span
      className="combo"
      ref={root}
      onKeyDown={(event) => {
        if (opened !== 'none' && event.key === 'Escape') close();
      }}
      onBlur={(event) => {
        if (event.relatedTarget !== null && root.current?.contains(event.relatedTarget) !== true) open('none');
      }}
    >
      <Button
        text="Add filter"
        look="small quiet"
        icon="filter"
        ref={button}
        aria-expanded={opened !== 'none'}
        onClick={() => open(opened === 'none' ? 'list' : 'none')}
      />
      {opened !== 'none' && (
        <div className="filter-bar__panel" role="group" aria-label="Filters">
          {opened === 'list' ? (
            filters.map((filter, at) => (
              <Button
                key={filter.parameter}
                text={filter.name}
                look="quiet"
                autoFocus={at === 0}
                onClick={() => open(filter)}
              />
            ))
          ) : (
            <FilterField
              filter={opened}
              asked={asked}
              choose={(value) => {
                close();
                ask(opened.parameter, value);
              }}
            />
          )}
        </div>
      )}
    </span>
  );
}

function FilterField({ filter, asked, choose }: { filter: Filter; asked: Asked; choose: (value: string) => void }) {
  const { name, choices: closed, useSuggestions = noSuggestions, problem, field } = filter;
  const [text, setText] = useState('');
  const [error, setError] = useState<string>();
  const panel = useRef<HTMLFormElement>(null);
  useEffect(() => panel.current?.querySelector('input')?.focus(), []);
  const typed = text.trim();
  const offered = useSuggestions(typed, asked);
  const all = Object.entries(closed ?? {}).map(([key, label]) => ({ key, text: label }));
  const isOpen = closed === undefined && field === undefined;
  const apply = (): void => {
    const why = problem?.(typed) ?? null;
    if (why !== null) setError(why);
    else if (typed !== '') choose(typed);
  };
  return (
    <form
      className="row"
      ref={panel}
      onSubmit={(event) => {
        event.preventDefault();
        if (isOpen) apply();
      }}
    >
      {field?.(choose) ?? (
        <Combobox
          label={name}
          text={text}
          setText={(next) => {
            setText(next);
            setError(undefined);
          }}
          isOpenAtFirst
          isClosed={closed !== undefined}
          choices={closed === undefined ? offered.choices : all.filter(({ text: each }) => isPart(typed, each))}
          more={offered.more ?? null}
          choose={({ key }) => choose(key)}
          error={error}
        />
      )}
      {isOpen && (
        <Button look="small" type="submit">
          Apply<span className="hidden"> {name}</span>
        </Button>
      )}
    </form>
  );
}

const noSuggestions: Exclude<Filter['useSuggestions'], undefined> = () => ({ choices: [] });

/** A filter of a moment, or of the beginning of a day, in the time zone of the browser. @param days offered, from today */
export function momentFilter(parameter: string, name: string, days: readonly number[] = [0, -1, -7, -30]): Filter {
  const offer = (ahead: number): Choice => {
    const day = dayText(new Date(now().getTime() + ahead * DAY));
    const hint = ahead === 0 ? 'today' : `${countText(Math.abs(ahead), 'day')} ${ahead < 0 ? 'ago' : 'ahead'}`;
    return { key: day, text: day, hint };
  };
  return {
    parameter,
    name,
    useSuggestions: (text) => ({ choices: days.map(offer).filter((choice) => choice.text.startsWith(text)) }),
    problem: (text) =>
      parseMoment(text) === null ? `Write it like ${offer(0).text}, or ${offer(0).text} 06:00.` : null,
    show: (value) => {
      const at = parseMoment(value);
      return at === null ? value : momentText(at, now());
    },
  };
}

/** Filter values for the API: moments as timestamps, without invalid ones. */
export function withMoments(asked: Asked, ...parameters: string[]): Asked {
  return Object.fromEntries(
    Object.entries(asked).flatMap(([name, value]) => {
      const moment = parameters.includes(name) ? parseMoment(value)?.toISOString() : value;
      return moment === undefined ? [] : [[name, moment]];
    }),
  );
}

const DAY = 86_400_000;

/** Names at a depth of the tree, below those that are asked for already. */
const nameFilter = (parameter: string, name: string, above: readonly string[]): Filter => ({
  parameter,
  name,
  useSuggestions: (text, asked) => {
    const under = above.map((each) => asked[each] ?? '');
    const { names, more } = useNames(under, text, !under.includes(''), false);
    return { choices: names.map((each) => ({ key: each, text: each })), more };
  },
});

type Without = ComponentProps<typeof PrincipalCombobox>['without'];

/** A filter of a principal, as the address names it: `group:3`. */
export function principalFilter(parameter: string, name: string, label?: string, without: Without = []): Filter {
  return {
    parameter,
    name,
    field: (choose) => (
      <PrincipalCombobox
        {...(label !== undefined && { label })}
        value={null}
        without={without}
        set={(value) => value !== null && choose(principalParameter(value))}
      />
    ),
    show: (value) => <PrincipalName parameter={value} />,
  };
}

/** Filters of grants and policies: by principal, and by node. */
export const ENTRY_FILTERS: readonly Filter[] = [
  principalFilter('principal', 'Holder'),
  {
    parameter: 'covering',
    name: 'Covers',
    useSuggestions: (text) => {
      const { under, part } = treeSearch([], text);
      const { names, more } = useNames(under, part, true, false);
      const paths = names.map((each) => sqlPath([...under, each]));
      return { choices: paths.map((path) => ({ key: path, text: path })), more };
    },
  },
  nameFilter('catalog', 'Catalog', []),
  nameFilter('schema', 'Schema', ['catalog']),
  nameFilter('table', 'Table', ['catalog', 'schema']),
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
