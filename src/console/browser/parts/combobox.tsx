import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { Icon } from './controls.js';
import { type Named, Shape } from './display.js';
import { FieldHint } from './form.js';

export interface Choice {
  key: string;
  /** Shown in the field once it is chosen. */
  text: string;
  of?: Named;
  hint?: string;
}

interface ComboboxProps<C extends Choice> {
  label: string;
  /** The label is for screen readers only, because the placeholder shows the same text. */
  isBare?: boolean;
  text: string;
  setText: (text: string) => void;
  choices: readonly C[];
  /** A remark that there are further choices; null: these are all. */
  more?: string | null;
  choose: (choice: C) => void;
  /** Called when the field loses the focus. */
  leave?: () => void;
  /** The chosen principal, shown in the field. */
  of?: Named | null;
  /** The text must be one of the choices: Enter takes the first. */
  isClosed?: boolean;
  isMono?: boolean;
  isDisabled?: boolean;
  /** The choices are shown before a key is pressed. */
  isOpenAtFirst?: boolean;
  placeholder?: string | undefined;
  /** Below the field. */
  hint?: ReactNode;
  error?: string | undefined;
}

/** The choice that Enter takes, by its key: it stays the same when the list is read again. */
type Active = { key: string } | 'first' | 'none';

/** A text field with a list of choices: arrows move, Enter chooses, Esc closes. Other text can be typed. */
export function Combobox<C extends Choice>(props: ComboboxProps<C>) {
  const { label, text, choices, more = null, of = null, hint, error } = props;
  const id = useId();
  const [isOpen, setOpen] = useState(props.isOpenAtFirst === true);
  const [active, setActive] = useState<Active>('none');
  const at = placeOf(active, choices);
  const isShown = isOpen && choices.length > 0;
  const close = (): void => {
    setOpen(false);
    setActive('none');
  };
  const take = (choice: C): void => {
    props.choose(choice);
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
      <label className={props.isBare === true ? 'hidden' : 'label'} htmlFor={id}>
        {label}
      </label>
      <span className="affix combo">
        {of !== null && <Shape of={of} />}
        <input
          className={props.isMono === true ? 'input input--mono' : 'input'}
          id={id}
          type="text"
          role="combobox"
          aria-expanded={isShown}
          aria-controls={isShown ? `${id}-list` : undefined}
          aria-activedescendant={isShown && at >= 0 ? `${id}-${at}` : undefined}
          aria-autocomplete="list"
          aria-invalid={error !== undefined || undefined}
          aria-describedby={hint === undefined && error === undefined ? undefined : `${id}-hint`}
          autoComplete="off"
          spellCheck={false}
          value={text}
          placeholder={props.placeholder}
          disabled={props.isDisabled}
          onChange={(event) => {
            props.setText(event.target.value);
            setOpen(true);
            setActive(props.isClosed === true ? 'first' : 'none');
          }}
          onClick={() => setOpen(true)}
          onKeyDown={press}
          onBlur={() => {
            close();
            props.leave?.();
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
                  <span className={props.isMono === true ? 'mono' : undefined}>{choice.text}</span>
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
