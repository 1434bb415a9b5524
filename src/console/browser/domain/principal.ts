/** A principal as far as it is known: users and groups have an id, engine principals only a name, everyone neither. */
export interface Named {
  type: string;
  id?: number;
  name?: string;
}

/** The form in addresses and query strings: `user:12`, `group:3`, `engine:NAME`, `everyone`. */
export function principalParameter({ type, id, name = '' }: Named): string {
  return type === 'everyone' ? type : `${type}:${id ?? name}`;
}

/** The kind of a principal in words, by type. */
export const PRINCIPAL_KINDS: Readonly<Record<string, string>> = {
  user: 'Person',
  group: 'Group',
  engine: 'Engine principal',
  everyone: 'All accounts and engine principals, later ones too',
};

/** The name that is shown; empty for a principal out of an address, of which only the id is known. */
export function principalName({ type, name = '' }: Named): string {
  return type === 'everyone' ? 'Everyone' : name;
}

/** Reads a principal from its form in addresses; null: the text names none. */
export function parsePrincipal(text: string | null): Named | null {
  if (text === 'everyone') return { type: text };
  const [, type = '', rest = ''] = /^(user|group|engine):(.+)$/s.exec(text ?? '') ?? [];
  if (type === 'engine') return { type, name: rest };
  return type !== '' && /^[1-9]\d{0,9}$/.test(rest) ? { type, id: Number(rest) } : null;
}
