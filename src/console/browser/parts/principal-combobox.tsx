import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { api, bodyOf } from '../api/client.js';
import { moreText, peopleText } from '../domain/count-text.js';
import { PRINCIPAL_KINDS, principalName, principalParameter } from '../domain/principal.js';
import { useSettled } from './address.js';
import { type Choice, Combobox } from './combobox.js';
import { addressOf, type Named, Principal } from './display.js';

interface PrincipalChoice extends Choice {
  of: Named;
}

interface PrincipalComboboxProps {
  label?: string;
  value: Named | null;
  /** Null: the text names nobody. */
  set: (value: Named | null) => void;
  placeholder?: string;
  /** Kinds that cannot be chosen. */
  without?: readonly ('everyone' | 'group')[];
  /** Without a line below it, among other fields of a row. */
  isPlain?: boolean;
  error?: string | undefined;
}

interface Known {
  choices: PrincipalChoice[];
  more: string | null;
}

/** A choice of a person, a group, an engine principal by its name, or everyone. */
export function PrincipalCombobox(props: PrincipalComboboxProps) {
  const { label = 'Person or group', value, set, placeholder, without = [], isPlain = false, error } = props;
  const name = usePrincipalName(value);
  /** Null: the name of the chosen principal is shown. */
  const [typed, setTyped] = useState<string | null>(null);
  const [isLeft, setLeft] = useState(false);
  const text = typed ?? name;
  const wanted = typed?.trim() ?? '';
  const asked = useSettled(wanted, 100);
  const { data: known, isPlaceholderData: isOld, isSuccess } = useChoices(asked);
  const choices = [choiceOf({ type: 'everyone' }), ...(known?.choices ?? [])].filter(
    ({ of, text }) => isPart(wanted, text) && !without.some((kind) => kind === of.type),
  );
  const exact = choices.filter((choice) => choice.text === wanted);
  // Offered once it is certain that no account and no group has the name.
  const isKnown = asked === wanted && isSuccess && !isOld;
  if (isKnown && wanted !== '' && exact.length === 0) {
    choices.push(choiceOf({ type: 'engine', name: wanted }, 'engine'));
  }
  const choose = (choice: PrincipalChoice): void => {
    setTyped(null);
    set(choice.of);
  };
  const [only] = exact;
  const isMeant = isLeft && typed !== null && exact.length === 1 && isKnown;
  useEffect(() => {
    // A name that is typed in full is chosen when the field loses the focus.
    if (isMeant && only !== undefined && value === null) choose(only);
  });
  return (
    <Combobox
      label={label}
      text={text}
      of={value}
      isClosed
      placeholder={placeholder}
      choices={choices}
      more={known?.more ?? null}
      setText={(next) => {
        setTyped(next);
        setLeft(false);
        if (value !== null) set(null);
      }}
      choose={choose}
      leave={() => setLeft(true)}
      hint={isPlain ? undefined : value === null ? 'By name; engine principals, too' : PRINCIPAL_KINDS[value.type]}
      error={error}
    />
  );
}

/** Whether a text has a part, in any case. */
export function isPart(part: string, whole: string): boolean {
  return whole.toLowerCase().includes(part.toLowerCase());
}

/** The name of a principal. It is read for a principal from an address, which has only an id. */
export function usePrincipalName(of: Named | null): string {
  const { data } = useQuery({
    queryKey: ['name', of === null ? '' : principalParameter(of)],
    enabled: of?.id !== undefined && of.name === undefined,
    queryFn: async () => {
      const path = { params: { path: { id: of?.id ?? 0 } } };
      if (of?.type === 'user') return (await bodyOf(api.GET('/api/admin/users/{id}', path))).username;
      return (await bodyOf(api.GET('/api/admin/groups/{id}', path))).name;
    },
  });
  return of === null ? '' : principalName(of) || (data ?? '');
}

/** A principal by name, or by id if the name is not known: *group 7*. */
export function PrincipalLink({ of }: { of: Named }) {
  const name = usePrincipalName(of) || principalParameter(of).replace(':', ' ');
  const href = addressOf(of);
  return href === undefined ? name : <Link href={href}>{name}</Link>;
}

/** The principal with a name on the engine: an account, or else an engine principal. Undefined: not known. */
export function useNamed(name: string | undefined): Named | undefined {
  const { data } = useQuery({
    queryKey: ['people', 'named', name],
    enabled: name !== undefined,
    queryFn: () => bodyOf(api.GET('/api/admin/users', { params: { query: { q: name ?? '', limit: 50 } } })),
  });
  if (data === undefined || name === undefined) return undefined;
  const person = data.items.find(({ username }) => username === name);
  return person === undefined ? { type: 'engine', name } : { type: 'user', id: person.id, name };
}

/** A principal by its name in published rules; only text if the name represents several users, such as *any other user*. */
export function NamedPrincipal({ name }: { name: string }) {
  const isOne = !/^(any other |\(like )/.test(name);
  const named = useNamed(isOne ? name : undefined);
  if (!isOne) return <span className="dim">{name}</span>;
  return <Principal of={named ?? { type: 'user', name }} href={named && addressOf(named)} />;
}

function useChoices(part: string) {
  return useQuery({
    queryKey: ['principals', part],
    placeholderData: (former: Known | undefined) => former,
    queryFn: async (): Promise<Known> => {
      const query = { limit: 20, ...(part !== '' && { q: part }) };
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
        more: moreText([
          ...(groups.next === null ? [] : ['groups']),
          ...(people.next === null ? [] : [peopleText(people.total - people.items.length)]),
        ]),
      };
    },
  });
}

function choiceOf(of: Named, hint?: string): PrincipalChoice {
  return { key: principalParameter(of), text: principalName(of), of, ...(hint !== undefined && { hint }) };
}
