import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, bodyOf } from '../api/client.js';
import { type Choice, Combobox } from './combobox.js';
import type { Named } from './principal.js';
import { useSettled } from './settled.js';

interface PrincipalChoice extends Choice {
  of: Named;
}

interface PrincipalComboboxProps {
  label?: string;
  value: Named | null;
  /** Null: what stands there names nobody. */
  set: (value: Named | null) => void;
  /** Whether everyone can be chosen; as a rule. */
  withEveryone?: boolean;
  error?: string | null;
}

const EVERYONE: PrincipalChoice = { key: 'everyone', text: 'Everyone', of: { type: 'everyone' } };

/** Who: a person, a group, an engine principal by its name, or everyone. */
export function PrincipalCombobox({ label, value, set, withEveryone = true, error }: PrincipalComboboxProps) {
  const [text, setText] = useState(value === null ? '' : nameOf(value));
  // The list of a chosen one shows all others, too.
  const wanted = value !== null && text === nameOf(value) ? '' : text.trim();
  const { data = [] } = useChoices(useSettled(wanted, 100));
  const choices = [...(withEveryone && isPart(wanted, EVERYONE.text) ? [EVERYONE] : []), ...data];
  const typed = text.trim();
  if (typed !== '' && wanted !== '' && !choices.some((choice) => choice.text === typed)) {
    choices.push({ key: `engine:${typed}`, text: typed, of: { type: 'engine', name: typed }, hint: 'engine' });
  }
  return (
    <Combobox
      label={label ?? 'Person or group'}
      text={text}
      of={value}
      choices={choices}
      setText={(next) => {
        setText(next);
        set(choices.find((choice) => choice.text === next && choice.of.type !== 'engine')?.of ?? null);
      }}
      choose={(choice) => {
        setText(choice.text);
        set(choice.of);
      }}
      hint={value === null ? undefined : KINDS[value.type]}
      error={error ?? (value === null && typed !== '' ? 'Choose one of the list.' : null)}
    />
  );
}

const KINDS: Record<string, string> = {
  user: 'Person',
  group: 'Group',
  engine: 'Engine principal',
  everyone: 'Every account and every engine principal that is named anywhere, later ones too',
};

function nameOf({ type, name = '' }: Named): string {
  return type === 'everyone' ? EVERYONE.text : name;
}

function isPart(part: string, whole: string): boolean {
  return whole.toLowerCase().includes(part.toLowerCase());
}

function useChoices(part: string) {
  return useQuery({
    queryKey: ['principals', part],
    placeholderData: (former: PrincipalChoice[] | undefined) => former,
    queryFn: async (): Promise<PrincipalChoice[]> => {
      const query = { limit: 20, ...(part !== '' && { q: part }) };
      const [groups, people] = await Promise.all([
        bodyOf(api.GET('/api/admin/groups', { params: { query } })),
        bodyOf(api.GET('/api/admin/users', { params: { query } })),
      ]);
      return [
        ...groups.items.map(({ id, name }) => choiceOf({ type: 'group', id, name }, 'group')),
        ...people.items.map(({ id, username, is_active: isActive }) =>
          choiceOf({ type: 'user', id, name: username }, isActive ? undefined : 'inactive'),
        ),
      ];
    },
  });
}

function choiceOf(of: Named & { id: number; name: string }, hint: string | undefined): PrincipalChoice {
  return { key: `${of.type}:${of.id}`, text: of.name, of, ...(hint !== undefined && { hint }) };
}
