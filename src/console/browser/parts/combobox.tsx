import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react';
import { Link } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { moreText, peopleText } from '../domain/count-text.js';
import { PRINCIPAL_KINDS, principalName, principalParameter } from '../domain/principal.js';
import { useDebounced } from './address.js';
import { Icon } from './controls.js';
import { addressOf, Principal, PrincipalIcon, type PrincipalRef } from './display.js';
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

interface PrincipalChoice extends Choice {
  principal: PrincipalRef;
}

interface PrincipalComboboxProps {
  label?: string;
  value: PrincipalRef | null;
  /** Called with null when the typed text is not a known name. */
  set: (value: PrincipalRef | null) => void;
  placeholder?: string;
  excludedKinds?: readonly ('everyone' | 'group')[];
  isHintHidden?: boolean;
  error?: string | undefined;
}

/** A field for a principal: a person, a group, an engine principal by its name, or everyone. */
export function PrincipalCombobox(props: PrincipalComboboxProps) {
  const { label = 'Person or group', value, set, placeholder, excludedKinds = [], isHintHidden = false, error } = props;
  const name = usePrincipalName(value);
  /** The typed text; null: the field shows the name of the chosen principal. */
  const [typedText, setTypedText] = useState<string | null>(null);
  const [hasLostFocus, setLostFocus] = useState(false);
  const text = typedText ?? name;
  const typedName = typedText?.trim() ?? '';
  const debouncedName = useDebounced(typedName, 100);
  const { data: knownChoices, isPlaceholderData: isOutdated, isSuccess } = usePrincipalChoices(debouncedName);
  const choices = [choiceOf({ type: 'everyone' }), ...(knownChoices?.choices ?? [])].filter(
    ({ principal: { type }, text }) => includesText(typedName, text) && !excludedKinds.some((kind) => kind === type),
  );
  const exactMatches = choices.filter((choice) => choice.text === typedName);
  // An engine principal is offered only when the search has shown that no account and no group has the name.
  const isUpToDate = debouncedName === typedName && isSuccess && !isOutdated;
  if (isUpToDate && typedName !== '' && exactMatches.length === 0) {
    choices.push(choiceOf({ type: 'engine', name: typedName }, 'engine'));
  }
  const choose = (choice: PrincipalChoice): void => {
    setTypedText(null);
    set(choice.principal);
  };
  const [onlyMatch] = exactMatches;
  const isTypedInFull = hasLostFocus && typedText !== null && exactMatches.length === 1 && isUpToDate;
  useEffect(() => {
    // When the field loses the focus, a name that was typed in full is chosen.
    if (isTypedInFull && onlyMatch !== undefined && value === null) choose(onlyMatch);
  });
  return (
    <Combobox
      label={label}
      text={text}
      principal={value && { ...value, name }}
      isChoiceRequired
      placeholder={placeholder}
      choices={choices}
      moreHint={knownChoices?.moreHint ?? null}
      setText={(newText) => {
        setTypedText(newText);
        setLostFocus(false);
        if (value !== null) set(null);
      }}
      choose={choose}
      onBlur={() => setLostFocus(true)}
      hint={isHintHidden ? undefined : value === null ? 'By name; engine principals, too' : PRINCIPAL_KINDS[value.type]}
      error={error}
    />
  );
}

/** Whether a text contains a part, without regard to case. */
export function includesText(part: string, text: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

/** The name of a principal. For a principal from an address, which has only an id, the name is read from the service. */
export function usePrincipalName(principal: PrincipalRef | null): string {
  const { data } = useQuery({
    queryKey: ['name', principal === null ? '' : principalParameter(principal)],
    enabled: principal?.id !== undefined && principal.name === undefined,
    queryFn: async () => {
      const options = { params: { path: { id: principal?.id ?? 0 } } };
      if (principal?.type === 'user') return (await bodyOf(api.GET('/api/admin/users/{id}', options))).username;
      return (await bodyOf(api.GET('/api/admin/groups/{id}', options))).name;
    },
  });
  return principal === null ? '' : principalName(principal) || (data ?? '');
}

/** The name of a principal, or its id if the name is not known: *group 7*. */
export function PrincipalName({ principal }: { principal: PrincipalRef }) {
  return usePrincipalName(principal) || principalParameter(principal).replace(':', ' ');
}

/** A link with the name of a principal, or with its id if the name is not known: *group 7*. */
export function PrincipalLink({ principal }: { principal: PrincipalRef }) {
  const href = addressOf(principal);
  const name = <PrincipalName principal={principal} />;
  return href === undefined ? name : <Link href={href}>{name}</Link>;
}

/** The principal with a name on the engine: an account or, if there is none, an engine principal. Undefined until the accounts have been read. */
export function usePrincipalByName(name: string | undefined): PrincipalRef | undefined {
  const { data } = useQuery({
    queryKey: ['people', 'named', name],
    enabled: name !== undefined,
    queryFn: () => bodyOf(api.GET('/api/admin/users', { params: { query: { q: name ?? '', limit: 50 } } })),
  });
  if (data === undefined || name === undefined) return undefined;
  const person = data.items.find(({ username }) => username === name);
  return person === undefined ? { type: 'engine', name } : { type: 'user', id: person.id, name };
}

/** A principal that published rules name. A name that means several users is plain text: *any other user*. */
export function PrincipalByName({ name }: { name: string }) {
  const isOnePrincipal = !/^(any other |\(like )/.test(name);
  const principal = usePrincipalByName(isOnePrincipal ? name : undefined);
  if (!isOnePrincipal) return <span className="dim">{name}</span>;
  return <Principal principal={principal ?? { type: 'user', name }} href={principal && addressOf(principal)} />;
}

function usePrincipalChoices(namePart: string) {
  return useQuery({
    queryKey: ['principals', namePart],
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const query = { limit: 20, ...(namePart !== '' && { q: namePart }) };
      const [groups, people] = await Promise.all([
        bodyOf(api.GET('/api/admin/groups', { params: { query } })),
        bodyOf(api.GET('/api/admin/users', { params: { query } })),
      ]);
      return {
        choices: [
          ...groups.items.map(({ id, name }) => choiceOf({ type: 'group', id, name }, 'group')),
          ...people.items.map(({ id, username, is_active: isActive }) =>
            choiceOf({ type: 'user', id, name: username }, isActive ? undefined : 'inactive'),
          ),
        ],
        moreHint: moreText([
          ...(groups.next === null ? [] : ['groups']),
          ...(people.next === null ? [] : [peopleText(people.total - people.items.length)]),
        ]),
      };
    },
  });
}

function choiceOf(principal: PrincipalRef, hint?: string): PrincipalChoice {
  const [key, text] = [principalParameter(principal), principalName(principal)];
  return { key, text, principal, ...(hint !== undefined && { hint }) };
}
