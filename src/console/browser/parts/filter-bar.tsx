import { type ReactNode, useEffect, useRef, useState } from 'react';
import { type Filter, SEARCH, useFilters } from './filters.js';
import { Icon } from './icon.js';

interface FilterBarProps {
  /** What the search is for: *Search people*. */
  placeholder: string;
  filters?: readonly Filter[];
  /** How much is shown. */
  children: ReactNode;
}

const NONE: readonly Filter[] = [];

/** Above a list: the search, then what is asked for as tokens, then a way to ask for more. The address holds all of it. */
export function FilterBar({ placeholder, filters = NONE, children }: FilterBarProps) {
  const { asked, ask } = useFilters(filters);
  const others = filters.filter(({ parameter }) => asked[parameter] === undefined);
  return (
    <div className="filter-bar">
      <Search placeholder={placeholder} asked={asked[SEARCH] ?? ''} ask={(text) => ask(SEARCH, text)} />
      {filters.map((filter) => {
        const value = asked[filter.parameter];
        return (
          value !== undefined && (
            <Token key={filter.parameter} filter={filter} value={value} remove={() => ask(filter.parameter, '')} />
          )
        );
      })}
      {others.length > 0 && <AddFilter filters={others} ask={ask} />}
      <p className="hint" role="status">
        {children}
      </p>
    </div>
  );
}

/** Milliseconds without a key after which a word counts as typed. */
const TYPED = 120;

/** The one search of a page; `/` focuses it. */
export function Search({
  placeholder,
  asked,
  ask,
}: {
  placeholder: string;
  asked: string;
  ask: (text: string) => void;
}) {
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

function Token({ filter, value, remove }: { filter: Filter; value: string; remove: () => void }) {
  const { name, choices, show } = filter;
  const text = choices?.find((choice) => choice.value === value)?.text ?? value;
  return (
    <span className="token">
      {name} <b>{show?.(value) ?? text}</b>
      <button type="button" aria-label={`Remove ${name} ${text}`} onClick={remove}>
        <Icon name="cross" />
      </button>
    </span>
  );
}

/** Opens the fields of all filters that are not set; the first value that is chosen closes them. */
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
      <button
        className="button button--small button--quiet"
        type="button"
        ref={button}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="filter" />
        Add filter
      </button>
      {isOpen && (
        <div className="filter-bar__panel" role="group" aria-label="Filters">
          {filters.map((filter, index) => (
            <Field
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

function Field({ filter, isFirst, choose }: { filter: Filter; isFirst: boolean; choose: (value: string) => void }) {
  const id = `filter-${filter.parameter}`;
  const { name, choices, type = 'text', field } = filter;
  if (field !== undefined) return field(choose);
  return (
    <form
      className="field"
      onSubmit={(event) => {
        event.preventDefault();
        const value = new FormData(event.currentTarget).get('value');
        if (typeof value === 'string' && value.trim() !== '') choose(value.trim());
      }}
    >
      <label className="label" htmlFor={id}>
        {name}
      </label>
      {choices === undefined ? (
        <span className="row">
          <input
            className="input"
            id={id}
            name="value"
            type={type}
            autoComplete="off"
            spellCheck={false}
            autoFocus={isFirst}
          />
          <button className="button button--small" type="submit">
            Apply<span className="hidden"> {name}</span>
          </button>
        </span>
      ) : (
        <select className="input" id={id} autoFocus={isFirst} value="" onChange={(event) => choose(event.target.value)}>
          <option value="">Any</option>
          {choices.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </form>
  );
}
