import type { Node } from '../../../trino-rules/model/node.js';
import { holderProblem, type Privilege, PRIVILEGES, privilegesOn } from '../../../trino-rules/model/privilege.js';
import type { Draft } from '../api/drafts.js';
import { NO_NAMES, type NodeNames, nodeOfNames } from './node-path.js';
import { type Named, parsePrincipal, principalParameter } from './principal.js';

/** The kinds of nodes of grants and policies. */
const PLACES = ['data', 'routine', 'engine', 'queries', 'acting'] as const;
export type Place = (typeof PLACES)[number];

/** The values of the fields of any kind of node. */
export interface PlaceForm extends NodeNames {
  place: Place;
  routine: string;
  as: Named | null;
  /** Owners of the queries. */
  queries: Named | null;
}

export const NO_PLACE: PlaceForm = { ...NO_NAMES, place: 'data', routine: '', as: null, queries: null };

/** The node that a form names; null: incomplete. */
export function nodeOfForm({ place, catalog, schema, table, routine, as, queries }: PlaceForm): Node | null {
  switch (place) {
    case 'data':
      return nodeOfNames({ catalog, schema, table });
    case 'routine':
      return routine === '' ? nodeOfNames({ catalog, schema, table: '' }) : { catalog, schema, routine };
    case 'engine':
      return { engine: true };
    case 'queries':
      return queries === null ? null : { queries: queries as Exclude<Node['queries'], undefined> };
    case 'acting':
      return as === null ? null : { as: as as Exclude<Node['as'], undefined> };
  }
}

/** A node with the privileges that a form offers, also while the form is incomplete. */
export function offeredNode(form: PlaceForm): Node {
  if (form.place === 'routine') return { catalog: '-', schema: '-', routine: '-' };
  const everyone = { type: 'everyone' } as const;
  return nodeOfForm(form) ?? (form.place === 'queries' ? { queries: everyone } : { as: everyone });
}

/** The fields that name a node. */
export function placeOfNode(node: object): PlaceForm {
  const { engine, as, queries, routine = '', ...names } = node as Node;
  const nonData = engine === true ? 'engine' : as ? 'acting' : queries ? 'queries' : null;
  const place = nonData ?? (routine !== '' ? 'routine' : 'data');
  const { catalog = '', schema = '', table = '' } = names;
  return { place, catalog, schema, table, routine, as: as ?? null, queries: queries ?? null };
}

/** Parameters of an address, named like the fields. */
const NAMES = ['catalog', 'schema', 'table', 'routine'] as const;

export function placeOfAddress(address: URLSearchParams): PlaceForm {
  const names = Object.fromEntries(NAMES.map((name) => [name, address.get(name) ?? '']));
  const [as, queries] = [parsePrincipal(address.get('as')), parsePrincipal(address.get('queries'))];
  const form = placeOfNode({ ...names, as, queries, engine: address.get('engine') === 'true' });
  return { ...form, place: PLACES.find((place) => place === address.get('on')) ?? form.place };
}

/** Writes the names or the principal of the node of a form; its kind is left to the caller. Values of other kinds are left out. */
export function writePlace(form: PlaceForm, address: URLSearchParams): void {
  const { as, queries, ...names } = placeOfNode(nodeOfForm(form) ?? {});
  for (const name of NAMES) if (names[name] !== '') address.set(name, names[name]);
  if (as !== null) address.set('as', principalParameter(as));
  if (queries !== null) address.set('queries', principalParameter(queries));
}

export { type Node, PRIVILEGES, type Privilege, privilegesOn };

/** Why a privilege cannot be granted to somebody; null: it can. */
export function grantProblem(privilege: Privilege, holder: Named | null): string | null {
  return holder === null ? null : holderProblem([privilege], holder as Parameters<typeof holderProblem>[1]);
}

/** The chosen privileges that can be granted to somebody on a node. */
export function grantable(chosen: readonly Privilege[], node: Node, holder: Named | null): Privilege[] {
  return privilegesOn(node).filter((each) => chosen.includes(each) && grantProblem(each, holder) === null);
}

/** The values of forms of grants and of policies, which their addresses hold as well. */
export interface EntryForm extends PlaceForm {
  principal: Named | null;
  privileges: Privilege[];
  description: string;
}

export interface GrantForm extends EntryForm {
  expires: string;
  /** Grants to be revoked in the same step. */
  revoke: number[];
}

export function entryOfAddress(address: URLSearchParams): EntryForm {
  return {
    ...placeOfAddress(address),
    principal: parsePrincipal(address.get('principal')),
    privileges: PRIVILEGES.filter((privilege) => address.getAll('privilege').includes(privilege)),
    description: address.get('description') ?? '',
  };
}

/** @param more further parameters, of which empty ones are left out */
export function addressOfEntry(
  form: EntryForm,
  more: Readonly<Record<string, string | readonly string[]>>,
): URLSearchParams {
  const { principal, privileges, description } = form;
  const address = new URLSearchParams();
  if (principal !== null) address.set('principal', principalParameter(principal));
  if (form.place !== 'data') address.set('on', form.place);
  writePlace(form, address);
  for (const [name, value] of Object.entries({ ...more, description, privilege: privileges }))
    for (const each of [value].flat()) if (each !== '') address.append(name, each);
  return address;
}

export function formOfAddress(address: URLSearchParams): GrantForm {
  return {
    ...entryOfAddress(address),
    expires: address.get('expires') ?? '',
    revoke: address.getAll('revoke').map(Number).filter(Number.isSafeInteger),
  };
}

export function addressOfForm(form: GrantForm): URLSearchParams {
  return addressOfEntry(form, { expires: form.expires, revoke: form.revoke.map(String) });
}

/** The page of a form that begins with a grant. */
export function addressOfGrant(principal: Named, privileges: readonly Privilege[], node: object): string {
  const rest = { expires: '', description: '', revoke: [] };
  const address = addressOfForm({ ...placeOfNode(node), principal, privileges: [...privileges], ...rest });
  return `/grants/new?${address.toString()}`;
}

/** The grant that a form means; null: something is missing. */
export function grantOfForm(form: GrantForm, expiresAt: Date | null): NonNullable<Draft['grant']>[number] | null {
  const { principal, description } = form;
  const node = nodeOfForm(form);
  if (principal === null || node === null) return null;
  const privileges = grantable(grantable(form.privileges, offeredNode(form), principal), node, principal);
  if (privileges.length === 0) return null;
  return {
    principal: withoutName(principal),
    resource: withoutNames(node),
    privileges,
    ...(expiresAt !== null && { expires_at: expiresAt.toISOString() }),
    ...(description.trim() !== '' && { description: description.trim() }),
  };
}

/** Names of the fields of a form, and their values in words. */
export type FieldTexts<F> = readonly (readonly [field: string, text: (form: F) => string])[];

/** The fields in which two forms differ, with both values in words. */
export function differencesOf<F>(fields: FieldTexts<F>, one: F, other: F) {
  return fields.flatMap(([field, text]) => {
    const [first, second] = [text(one), text(other)];
    return first === second ? [] : [{ field, one: first, other: second }];
  });
}

/** The form of a node in requests, without names of principals. */
export function withoutNames(node: Node): never {
  if (node.as !== undefined) return { as: withoutName(node.as) } as never;
  return (node.queries === undefined ? node : { queries: withoutName(node.queries) }) as never;
}

/** The form of a principal in requests: users and groups without their names. */
export function withoutName({ type, id, name }: Named): never {
  return (type === 'user' || type === 'group' ? { type, id } : type === 'engine' ? { type, name } : { type }) as never;
}

/** The page of one grant, also of an ended one. */
export function grantAddress(id: number | string): string {
  return `/grants?state=all&grant=${id}`;
}
