import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import { Icon } from './controls.js';
import { type PrincipalRef, PrincipalIcon } from './display.js';
import { FieldHint } from './form.js';

export interface Choice {
  key: string;
  text: string;
  principal?: PrincipalRef;
  hint?: string;
}

interface ComboboxProps<C extends Choice> {
  label: string;
  /** Whether the label is for screen readers only, because the placeholder shows the same text. */
  isLabelHidden?: boolean;
  text: string;
  setText: (text: string) => void;
  choices: readonly C[];
  /** A text that says which further choices are not listed; null: all are listed. */
  moreHint?: string | null;
  choose: (choice: C) => void;
  /** Called when the typed text is complete: the field loses the focus, or Enter sends its form. */
  onBlur?: () => void;
  principal?: PrincipalRef | null;
  /** Whether the text must be one of the choices. Enter then selects the first choice. */
  isChoiceRequired?: boolean;
  isMono?: boolean;
  isDisabled?: boolean;
  isInitiallyOpen?: boolean;
  placeholder?: string | undefined;
  hint?: ReactNode;
  error?: string | undefined;
}

/** The choice that Enter selects. A key identifies it, so that it stays the same when the list changes. */
type ActiveChoice = { key: string } | 'first' | 'none';

/** A text field with a list of choices: arrows move, Enter chooses, Esc closes. Other text can be typed. */
export function Combobox<C extends Choice>(props: ComboboxProps<C>) {
  const { label, text, choices, moreHint = null, principal = null, hint, error } = props;
  const id = useId();
  const [isOpen, setOpen] = useState(props.isInitiallyOpen === true);
  const [activeChoice, setActiveChoice] = useState<ActiveChoice>('none');
  const activeIndex = activeIndexOf(activeChoice, choices);
  const isListShown = isOpen && choices.length > 0;
  const close = (): void => {
    setOpen(false);
    setActiveChoice('none');
  };
  const chooseAndClose = (choice: C): void => {
    props.choose(choice);
    close();
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    const indexStep = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const choice = choices[activeIndex];
    if (indexStep !== undefined) {
      setOpen(true);
      const startIndex = isListShown && activeIndex >= 0 ? activeIndex : indexStep > 0 ? -1 : 0;
      const nextChoice = choices.at((startIndex + indexStep) % choices.length);
      setActiveChoice(nextChoice === undefined ? 'first' : { key: nextChoice.key });
    } else if (event.key === 'Enter' && isListShown && choice !== undefined) chooseAndClose(choice);
    else if (event.key === 'Escape' && isListShown) close();
    else {
      if (event.key === 'Enter') props.onBlur?.(); // Enter sends the form
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div className="field">
      <label className={props.isLabelHidden === true ? 'hidden' : 'label'} htmlFor={id}>
        {label}
      </label>
      <span className="affix combo">
        {principal !== null && <PrincipalIcon principal={principal} />}
        <input
          className={props.isMono === true ? 'input input--mono' : 'input'}
          id={id}
          type="text"
          role="combobox"
          aria-expanded={isListShown}
          aria-controls={isListShown ? `${id}-list` : undefined}
          aria-activedescendant={isListShown && activeIndex >= 0 ? `${id}-${activeIndex}` : undefined}
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
            setActiveChoice(props.isChoiceRequired === true ? 'first' : 'none');
          }}
          onClick={() => setOpen(true)}
          onKeyDown={onKeyDown}
          onBlur={() => {
            close();
            props.onBlur?.();
          }}
        />
        {isListShown && (
          <div className="combo__list">
            <ul id={`${id}-list`} role="listbox" aria-label={label}>
              {choices.map((choice, index) => (
                <li
                  key={choice.key}
                  id={`${id}-${index}`}
                  role="option"
                  aria-selected={index === activeIndex}
                  ref={index === activeIndex ? (option) => option?.scrollIntoView({ block: 'nearest' }) : null}
                  // Prevents the field from losing the focus.
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => chooseAndClose(choice)}
                >
                  {choice.principal !== undefined && <PrincipalIcon principal={choice.principal} />}
                  <span className={props.isMono === true ? 'mono' : undefined}>{choice.text}</span>
                  {choice.hint !== undefined && <small className="hint">{choice.hint}</small>}
                </li>
              ))}
            </ul>
            {moreHint !== null && <p className="hint">{moreHint}</p>}
          </div>
        )}
        <Icon name="down" />
      </span>
      <FieldHint id={`${id}-hint`} hint={hint} error={error} />
    </div>
  );
}

function activeIndexOf(activeChoice: ActiveChoice, choices: readonly Choice[]): number {
  if (activeChoice === 'none') return -1;
  if (activeChoice === 'first') return Math.min(0, choices.length - 1);
  return choices.findIndex(({ key }) => key === activeChoice.key);
}
