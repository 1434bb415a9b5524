import type { Draft } from '../api/drafts.js';
import { NO_PLACE, nodeOfForm, offeredAt, type PlaceForm, placeOfNode, PLACES } from './place-form.js';
import { type Named, parsePrincipal, principalParameter } from './principal.js';
import { givable, type Node, type Privilege, PRIVILEGES } from './privileges.js';

/** What a form of a grant holds; its address holds the same. */
export interface GrantForm extends PlaceForm {
  principal: Named | null;
  privileges: Privilege[];
  expires: string;
  description: string;
  /** Grants to be revoked in the same step. */
  revoke: number[];
}

const TEXTS = ['catalog', 'schema', 'table', 'routine', 'expires', 'description'] as const;

export function formOfAddress(address: URLSearchParams): GrantForm {
  const texts = Object.fromEntries(TEXTS.map((name) => [name, address.get(name) ?? ''])) as Pick<
    GrantForm,
    (typeof TEXTS)[number]
  >;
  const [as, queries] = [parsePrincipal(address.get('as')), parsePrincipal(address.get('queries'))];
  return {
    ...NO_PLACE,
    ...texts,
    principal: parsePrincipal(address.get('principal')),
    place: PLACES.find((place) => place === address.get('on')) ?? placeOfNode({ as, queries }).place,
    ...{ as, queries },
    privileges: PRIVILEGES.filter((privilege) => address.getAll('privilege').includes(privilege)),
    revoke: address.getAll('revoke').map(Number).filter(Number.isSafeInteger),
  };
}

export function addressOfForm(form: GrantForm): URLSearchParams {
  const address = new URLSearchParams();
  if (form.principal !== null) address.set('principal', principalParameter(form.principal));
  if (form.place !== 'data') address.set('on', form.place);
  if (form.as !== null) address.set('as', principalParameter(form.as));
  if (form.queries !== null) address.set('queries', principalParameter(form.queries));
  for (const name of TEXTS) if (form[name] !== '') address.set(name, form[name]);
  for (const privilege of form.privileges) address.append('privilege', privilege);
  for (const id of form.revoke) address.append('revoke', String(id));
  return address;
}

/** The page of a form that begins with a grant. */
export function addressOfGrant(principal: Named, privileges: readonly Privilege[], node: object): string {
  const begun = {
    ...placeOfNode(node),
    principal,
    privileges: [...privileges],
    expires: '',
    description: '',
    revoke: [],
  };
  return `/grants/new?${addressOfForm(begun).toString()}`;
}

/** The grant that a form means; null: something is missing. */
export function grantOfForm(form: GrantForm, expiresAt: Date | null): NonNullable<Draft['grant']>[number] | null {
  const { principal, description } = form;
  const node = nodeOfForm(form);
  if (principal === null || node === null) return null;
  const privileges = givable(givable(form.privileges, offeredAt(form), principal), node, principal);
  if (privileges.length === 0) return null;
  return {
    principal: withoutName(principal),
    resource: withoutNames(node),
    privileges,
    ...(expiresAt !== null && { expires_at: expiresAt.toISOString() }),
    ...(description.trim() !== '' && { description: description.trim() }),
  };
}

/** A node as requests name it. */
export function withoutNames(node: Node): never {
  if (node.as !== undefined) return { as: withoutName(node.as) } as never;
  return (node.queries === undefined ? node : { queries: withoutName(node.queries) }) as never;
}

/** As requests name it: users and groups by their ids. */
export function withoutName({ type, id, name }: Named): never {
  return (type === 'user' || type === 'group' ? { type, id } : type === 'engine' ? { type, name } : { type }) as never;
}

/** Where one grant stands, whatever has become of it. */
export function grantAddress(id: number | string): string {
  return `/grants?state=all&grant=${id}`;
}
