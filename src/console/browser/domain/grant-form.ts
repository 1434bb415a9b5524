import type { Node } from '../../../trino-rules/model/node.js';
import { holderProblem, type Privilege, PRIVILEGES, privilegesOn } from '../../../trino-rules/model/privilege.js';
import type { Draft } from '../api/entries.js';
import { EMPTY_NAMES, type NodeNames, nodeAt } from './node-path.js';
import { type PrincipalRef, parsePrincipal, principalParameter } from './principal.js';

/** The kinds of nodes of grants and policies, with their labels. */
export const NODE_KINDS = [
  ['data', 'Data'],
  ['routine', 'Routine'],
  ['engine', 'Engine'],
  ['queries', 'Queries of'],
  ['acting', 'Acting as'],
] as const;
type NodeKind = (typeof NODE_KINDS)[number][0];

export interface NodeForm extends NodeNames {
  nodeKind: NodeKind;
  routine: string;
  as: PrincipalRef | null;
  queries: PrincipalRef | null;
}

export const EMPTY_NODE_FORM: NodeForm = { ...EMPTY_NAMES, nodeKind: 'data', routine: '', as: null, queries: null };

/** The node that a form names; null: the form is incomplete. */
export function nodeOfForm({ nodeKind, catalog, schema, table, routine, as, queries }: NodeForm): Node | null {
  switch (nodeKind) {
    case 'data':
      return nodeAt([catalog, schema, table]);
    case 'routine':
      return routine === '' ? nodeAt([catalog, schema]) : { catalog, schema, routine };
    case 'engine':
      return { engine: true };
    case 'queries':
      return queries === null ? null : { queries: queries as Exclude<Node['queries'], undefined> };
    case 'acting':
      return as === null ? null : { as: as as Exclude<Node['as'], undefined> };
  }
}

/** A node of the form's kind, perhaps with placeholders instead of names. */
export function offeredNode(form: NodeForm): Node {
  if (form.nodeKind === 'routine') return { catalog: '-', schema: '-', routine: '-' };
  const anyPrincipal = { type: 'everyone' } as const;
  return nodeOfForm(form) ?? (form.nodeKind === 'queries' ? { queries: anyPrincipal } : { as: anyPrincipal });
}

export function nodeFormOf(node: object): NodeForm {
  const { engine, as, queries, routine = '', ...names } = node as Node;
  const nonDataKind = engine === true ? 'engine' : as ? 'acting' : queries ? 'queries' : null;
  const nodeKind = nonDataKind ?? (routine !== '' ? 'routine' : 'data');
  const { catalog = '', schema = '', table = '' } = names;
  return { nodeKind, catalog, schema, table, routine, as: as ?? null, queries: queries ?? null };
}

const NAME_PARAMETERS = ['catalog', 'schema', 'table', 'routine'] as const;

export function nodeFormFromAddress(address: URLSearchParams): NodeForm {
  const names = Object.fromEntries(NAME_PARAMETERS.map((name) => [name, address.get(name) ?? '']));
  const [as, queries] = [parsePrincipal(address.get('as')), parsePrincipal(address.get('queries'))];
  const form = nodeFormOf({ ...names, as, queries, engine: address.get('engine') === 'true' });
  const [nodeKind = form.nodeKind] = NODE_KINDS.find(([kind]) => kind === address.get('on')) ?? [];
  return { ...form, nodeKind };
}

/** Writes the names or the principal of a form's node into address parameters. The caller writes the kind. */
export function writeNode(form: NodeForm, address: URLSearchParams): void {
  const { as, queries, ...names } = nodeFormOf(nodeOfForm(form) ?? {});
  for (const name of NAME_PARAMETERS) if (names[name] !== '') address.set(name, names[name]);
  if (as !== null) address.set('as', principalParameter(as));
  if (queries !== null) address.set('queries', principalParameter(queries));
}

export { type Node, PRIVILEGES, type Privilege, privilegesOn };

/** Why a privilege cannot be granted to a principal, or null if nothing prevents it. */
export function grantProblem(privilege: Privilege, holder: PrincipalRef | null): string | null {
  return holder === null ? null : holderProblem([privilege], holder as Parameters<typeof holderProblem>[1]);
}

/** The chosen privileges that can be granted to a principal on a node. */
export function grantablePrivileges(privileges: readonly Privilege[], node: Node, holder: PrincipalRef | null) {
  return privilegesOn(node).filter((each) => privileges.includes(each) && grantProblem(each, holder) === null);
}

/** The values that the forms of grants and policies share. They are also kept in the address. */
export interface EntryForm extends NodeForm {
  principal: PrincipalRef | null;
  privileges: Privilege[];
  description: string;
}

export interface GrantForm extends EntryForm {
  expires: string;
  revokedIds: number[];
}

export function entryFromAddress(address: URLSearchParams): EntryForm {
  return {
    ...nodeFormFromAddress(address),
    principal: parsePrincipal(address.get('principal')),
    privileges: PRIVILEGES.filter((privilege) => address.getAll('privilege').includes(privilege)),
    description: address.get('description') ?? '',
  };
}

/** The address parameters of a form, and `extraParameters`, without the empty ones. */
export function addressOfEntry(
  form: EntryForm,
  extraParameters: Readonly<Record<string, string | readonly string[]>>,
): URLSearchParams {
  const { principal, privileges, description } = form;
  const address = new URLSearchParams();
  if (principal !== null) address.set('principal', principalParameter(principal));
  if (form.nodeKind !== 'data') address.set('on', form.nodeKind);
  writeNode(form, address);
  for (const [name, value] of Object.entries({ ...extraParameters, description, privilege: privileges }))
    for (const each of [value].flat()) if (each !== '') address.append(name, each);
  return address;
}

export function grantFormFromAddress(address: URLSearchParams): GrantForm {
  return {
    ...entryFromAddress(address),
    expires: address.get('expires') ?? '',
    revokedIds: address.getAll('revoke').map(Number).filter(Number.isSafeInteger),
  };
}

export function addressOfGrantForm(form: GrantForm): URLSearchParams {
  return addressOfEntry(form, { expires: form.expires, revoke: form.revokedIds.map(String) });
}

/** The address of the form of a new grant, filled in with these values. */
export function newGrantAddress(principal: PrincipalRef, privileges: readonly Privilege[], node: object): string {
  const emptyFields = { expires: '', description: '', revokedIds: [] };
  const address = addressOfGrantForm({ ...nodeFormOf(node), principal, privileges: [...privileges], ...emptyFields });
  return `/grants/new?${address.toString()}`;
}

/** The grant that a form describes; null: the form is incomplete. */
export function grantOfForm(form: GrantForm, expiresAt: Date | null): NonNullable<Draft['grant']>[number] | null {
  const { principal, description } = form;
  const node = nodeOfForm(form);
  if (principal === null || node === null) return null;
  const offeredPrivileges = grantablePrivileges(form.privileges, offeredNode(form), principal);
  const privileges = grantablePrivileges(offeredPrivileges, node, principal);
  if (privileges.length === 0) return null;
  return {
    principal: principalWithoutName(principal),
    resource: nodeWithoutNames(node),
    privileges,
    ...(expiresAt !== null && { expires_at: expiresAt.toISOString() }),
    ...(description.trim() !== '' && { description: description.trim() }),
  };
}

/** The message for a node that lacks its principal. */
export function missingNodeText({ nodeKind }: NodeForm): string {
  return nodeKind === 'queries' ? 'Say whose queries.' : 'Say as whom.';
}

export function missingFieldTexts(form: GrantForm): Record<string, string> {
  const { principal, privileges } = form;
  return {
    ...(principal === null && { principal: 'Choose who gets it.' }),
    ...(nodeOfForm(form) === null && { resource: missingNodeText(form) }),
    ...(grantablePrivileges(privileges, offeredNode(form), principal).length === 0 && {
      privileges: 'Choose at least one.',
    }),
  };
}

/** The fields of a form: each with its label and a function that gives its value in words. */
export type FieldTexts<F> = readonly (readonly [field: string, text: (form: F) => string])[];

/** The fields in which two forms differ, with both values in words. */
export function differencesOf<F>(fields: FieldTexts<F>, theirForm: F, myForm: F) {
  const fieldTexts = fields.map(([field, textOf]) => ({ field, theirText: textOf(theirForm), myText: textOf(myForm) }));
  return fieldTexts.filter(({ theirText, myText }) => theirText !== myText);
}

/** A node as requests contain it, without names of principals. */
export function nodeWithoutNames(node: Node): never {
  if (node.as !== undefined) return { as: principalWithoutName(node.as) } as never;
  return (node.queries === undefined ? node : { queries: principalWithoutName(node.queries) }) as never;
}

/** A principal as requests contain it: users and groups without their names. */
export function principalWithoutName({ type, id, name }: PrincipalRef): never {
  return (type === 'user' || type === 'group' ? { type, id } : type === 'engine' ? { type, name } : { type }) as never;
}

/** The address of the page of one grant, which may have ended. */
export function grantAddress(id: number | string): string {
  return `/grants?state=all&grant=${id}`;
}
