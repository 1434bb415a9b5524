import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { Icon } from './icon.js';
import { type Named, Shape } from './principal.js';
import { FieldHint } from './text-field.js';

export interface Choice {
  key: string;
  /** What stands in the field once it is chosen. */
  text: string;
  /** Whom it stands for. */
  of?: Named;
  hint?: string;
}

interface ComboboxProps<C extends Choice> {
  label: string;
  /** It is read aloud and not shown: the placeholder says it. */
  isBare?: boolean;
  text: string;
  setText: (text: string) => void;
  choices: readonly C[];
  /** What else there is, and how to come to it; null: these are all. */
  more?: string | null;
  choose: (choice: C) => void;
  /** The focus is elsewhere: nobody types any more. */
  leave?: () => void;
  /** Who is chosen, to be shown in the field. */
  of?: Named | null;
  /** What is typed must be one of the choices: the first is at hand. */
  isClosed?: boolean;
  isMono?: boolean;
  isDisabled?: boolean;
  placeholder?: string;
  /** Below the field. */
  hint?: ReactNode;
  error?: string | null;
}

/** The choice that Enter takes. By its key: it stays the same one when the list is read again. */
type Active = { key: string } | 'first' | 'none';

/** A text field with a list of choices: arrows move, Enter chooses, Esc closes. What is typed need not be among them. */
export function Combobox<C extends Choice>(props: ComboboxProps<C>) {
  const {
    label,
    isBare,
    text,
    setText,
    choices,
    more = null,
    choose,
    leave,
    of,
    isClosed,
    isMono,
    isDisabled,
    placeholder,
    hint,
    error = null,
  } = props;
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState<Active>('none');
  const at = placeOf(active, choices);
  const isShown = isOpen && choices.length > 0;
  const close = (): void => {
    setOpen(false);
    setActive('none');
  };
  const take = (choice: C): void => {
    choose(choice);
    close();
  };
  const press = (event: KeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const choice = choices[at];
    if (step !== undefined) {
      setOpen(true);
      const from = isShown && at >= 0 ? at : step > 0 ? -1 : 0;
      const next = choices.at((from + step) % choices.length);
      setActive(next === undefined ? 'first' : { key: next.key });
    } else if (event.key === 'Enter' && isShown && choice !== undefined) take(choice);
    else if (event.key === 'Escape' && isShown) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="field">
      <label className={isBare === true ? 'hidden' : 'label'} htmlFor={id}>
        {label}
      </label>
      <span className="affix combo">
        {of !== undefined && of !== null && <Shape of={of} />}
        <input
          className={isMono === true ? 'input input--mono' : 'input'}
          id={id}
          type="text"
          role="combobox"
          aria-expanded={isShown}
          aria-controls={isShown ? `${id}-list` : undefined}
          aria-activedescendant={isShown && at >= 0 ? `${id}-${at}` : undefined}
          aria-autocomplete="list"
          aria-invalid={error !== null || undefined}
          aria-describedby={hint === undefined && error === null ? undefined : `${id}-hint`}
          autoComplete="off"
          spellCheck={false}
          value={text}
          placeholder={placeholder}
          disabled={isDisabled}
          onChange={(event) => {
            setText(event.target.value);
            setOpen(true);
            setActive(isClosed === true ? 'first' : 'none');
          }}
          onClick={() => setOpen(true)}
          onKeyDown={press}
          onBlur={() => {
            close();
            leave?.();
          }}
        />
        {isShown && (
          <div className="combo__list">
            <ul id={`${id}-list`} role="listbox" aria-label={label}>
              {choices.map((choice, index) => (
                <li
                  key={choice.key}
                  id={`${id}-${index}`}
                  role="option"
                  aria-selected={index === at}
                  ref={index === at ? (option) => option?.scrollIntoView({ block: 'nearest' }) : null}
                  // The field keeps the focus.
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => take(choice)}
                >
                  {choice.of !== undefined && <Shape of={choice.of} />}
                  <span className={isMono === true ? 'mono' : undefined}>{choice.text}</span>
                  {choice.hint !== undefined && <small className="hint">{choice.hint}</small>}
                </li>
              ))}
            </ul>
            {more !== null && <p className="hint">{more}</p>}
          </div>
        )}
        <Icon name="down" />
      </span>
      <FieldHint id={`${id}-hint`} hint={hint} error={error} />
    </div>
  );
}

function placeOf(active: Active, choices: readonly Choice[]): number {
  if (active === 'none') return -1;
  if (active === 'first') return Math.min(0, choices.length - 1);
  return choices.findIndex(({ key }) => key === active.key);
}
