/** A principal, by what is known of it: users and groups have an id, engine principals a name alone, everyone neither. */
export interface Named {
  type: string;
  id?: number;
  name?: string;
}

/** As addresses and query strings name it: `user:12`, `group:3`, `engine:NAME`, `everyone`. */
export function principalParameter({ type, id, name = '' }: Named): string {
  return type === 'everyone' ? type : `${type}:${id ?? name}`;
}

/** By type, for people. */
export const PRINCIPAL_KINDS: Readonly<Record<string, string>> = {
  user: 'Person',
  group: 'Group',
  engine: 'Engine principal',
  everyone: 'All accounts and engine principals, later ones too',
};

/** For people; empty: one out of an address is known by its id alone. */
export function principalName({ type, name = '' }: Named): string {
  return type === 'everyone' ? 'Everyone' : name;
}

/** Null: it names nobody. */
export function parsePrincipal(text: string | null): Named | null {
  if (text === 'everyone') return { type: text };
  const [, type = '', rest = ''] = /^(user|group|engine):(.+)$/s.exec(text ?? '') ?? [];
  if (type === 'engine') return { type, name: rest };
  return type !== '' && /^[1-9]\d{0,9}$/.test(rest) ? { type, id: Number(rest) } : null;
}
