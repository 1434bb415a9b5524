/** A principal, possibly without its name: users and groups have an id, engine principals only a name, everyone neither. */
export interface PrincipalRef {
  type: string;
  id?: number;
  name?: string;
}

/** A part of a sentence: text, a link, a principal, a node, privileges, or a moment. */
export type TextPart =
  | string
  | { text: string; href: string }
  | { principal: PrincipalRef }
  | { node: object }
  | { privileges: readonly string[] }
  | { time: string };

/** The text of a principal in addresses: `user:12`, `group:3`, `engine:NAME`, `everyone`. */
export function principalParameter({ type, id, name = '' }: PrincipalRef): string {
  return type === 'everyone' ? type : `${type}:${id ?? name}`;
}

/** The kind of a principal in words, by type. */
export const PRINCIPAL_KINDS: Readonly<Record<string, string>> = {
  user: 'Person',
  group: 'Group',
  engine: 'Engine principal',
  everyone: 'All accounts and engine principals, later ones too',
};

/** The shown name of a principal. Empty for a principal from an address, which contains only the id. */
export function principalName({ type, name = '' }: PrincipalRef): string {
  return type === 'everyone' ? 'Everyone' : name;
}

/** Parses the text of a principal in an address. Null: the text is malformed. */
export function parsePrincipal(text: string | null): PrincipalRef | null {
  if (text === 'everyone') return { type: text };
  const [, type = '', idOrName = ''] = /^(user|group|engine):(.+)$/s.exec(text ?? '') ?? [];
  if (type === 'engine') return { type, name: idOrName };
  return type !== '' && /^[1-9]\d{0,9}$/.test(idOrName) ? { type, id: Number(idOrName) } : null;
}
