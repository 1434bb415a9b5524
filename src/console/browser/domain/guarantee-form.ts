import { mergeIntoComposites } from '../../../trino-rules/model/privilege.js';
import type { Schemas } from '../api/client.js';
import * as grants from './grant-form.js';
import { pathText } from './node-path.js';
import { parsePrincipal, type TextPart, principalName, principalParameter, type PrincipalRef } from './principal.js';
import { prepositionOf } from './why-address.js';

export type Guarantee = Schemas['GuaranteeResponse'];
type GuaranteeKind = Guarantee['kind'];

/** The access that a guarantee is about: privileges on a node and everything below it. If none is chosen, the privileges of `defaultPrivilegesText` are meant. */
export interface ScopeForm extends grants.NodeForm {
  privileges: grants.Privilege[];
  /** The column, if the scope is about reading its unmasked values; otherwise empty. */
  column: string;
  isUnfiltered: boolean;
}

/** The values of a guarantee's form. Requests contain only the fields of the chosen kind. */
export interface GuaranteeForm extends Pick<grants.EntryForm, 'principal' | 'description'> {
  name: string;
  kind: GuaranteeKind;
  mode: Guarantee['mode'];
  /** Exceptions; for the kind `only` the allowed principals. */
  except: PrincipalRef[];
  count: string;
  first: ScopeForm;
  /** The second scope, which only guarantees of the kind `apart` have. */
  second: ScopeForm;
}

const EMPTY_SCOPE: ScopeForm = { ...grants.EMPTY_NODE_FORM, privileges: [], column: '', isUnfiltered: false };

export const NEW_GUARANTEE: GuaranteeForm = {
  ...{ name: '', description: '', kind: 'never', mode: 'enforced', principal: null, except: [], count: '5' },
  ...{ first: EMPTY_SCOPE, second: EMPTY_SCOPE },
};

export const GUARANTEE_KINDS = [
  ['never', 'Never'],
  ['only', 'Only'],
  ['always', 'Always'],
  ['apart', 'Apart'],
  ['at_most', 'At most'],
] as const;

/** Whether a guarantee refuses writes that would break it. The kind `always` refuses no write, because revoking access must stay possible. */
export const isBlocking = ({ kind, mode }: Pick<Guarantee, 'kind' | 'mode'>): boolean =>
  mode === 'enforced' && kind !== 'always';
export const hasExceptions = (kind: GuaranteeKind): boolean => kind !== 'only' && kind !== 'always';
/** Whether a guarantee of this kind that names no principal applies to everyone. */
export const isEveryoneByDefault = (kind: GuaranteeKind): boolean => kind === 'apart' || kind === 'at_most';

export function formOfGuarantee(guarantee: Guarantee): GuaranteeForm {
  const { name, description, kind, mode, principal = null, principals, except = [], count = 5 } = guarantee;
  return {
    ...{ name, kind, mode, description: description ?? '', count: String(count) },
    ...{ principal, except: principals ?? except },
    first: formOfScope(guarantee.first ?? guarantee),
    second: formOfScope(guarantee.second ?? {}),
  };
}

interface Scope {
  resource?: object;
  privileges?: readonly grants.Privilege[];
  unfiltered?: boolean;
}

function formOfScope({ resource = {}, privileges = [], unfiltered: isUnfiltered = false }: Scope): ScopeForm {
  const { column = '', ...node } = resource as NodeWithColumn;
  const form = { ...grants.nodeFormOf(node), column, isUnfiltered, privileges: [...privileges] };
  const allPrivileges = mergeIntoComposites(grants.privilegesOn(node).filter((each) => each !== 'EXECUTE_QUERIES'));
  return isUnrestrictedReading(form) || allPrivileges.join() === privileges.join() ? { ...form, privileges: [] } : form;
}

type NodeWithColumn = grants.Node & { column?: string };

/** Whether a scope is about reading rows without masks or filters. The privilege of such a scope is always SELECT. */
export function isUnrestrictedReading({ nodeKind, column, isUnfiltered }: ScopeForm): boolean {
  return nodeKind === 'data' && (column !== '' || isUnfiltered);
}

/** Reads the form from an address. @param savedForm the saved guarantee, which is returned if the address contains no draft */
export function guaranteeFromAddress(address: URLSearchParams, savedForm = NEW_GUARANTEE): GuaranteeForm {
  const [kind] = GUARANTEE_KINDS.find(([each]) => each === address.get('kind')) ?? [];
  if (kind === undefined) return savedForm;
  const { principal, description } = grants.entryFromAddress(address);
  return {
    ...{ kind, principal, description, name: address.get('name') ?? '', count: address.get('count') ?? '' },
    mode: address.get('mode') === 'reported' ? 'reported' : 'enforced',
    except: address.getAll('except').flatMap((text) => parsePrincipal(text) ?? []),
    first: scopeFromAddress(address),
    second: scopeFromAddress(new URLSearchParams(address.get('and') ?? '')),
  };
}

function scopeFromAddress(address: URLSearchParams): ScopeForm {
  const { principal: _, description: __, ...nodeForm } = grants.entryFromAddress(address);
  return { ...nodeForm, column: address.get('column') ?? '', isUnfiltered: address.has('unfiltered') };
}

/** The address parameters of a form; empty if it equals `savedForm`. */
export function addressOfGuarantee(form: GuaranteeForm, savedForm = NEW_GUARANTEE): URLSearchParams {
  const writeForm = ({ first, second, principal, description, except, ...texts }: GuaranteeForm): URLSearchParams => {
    const secondScope = addressOfScope(second, { principal: null, description: '' }, {}).toString();
    const extraParameters = { ...texts, and: secondScope, except: except.map(principalParameter).sort() };
    return addressOfScope(first, { principal, description }, extraParameters);
  };
  const address = writeForm(form);
  return address.toString() === writeForm(savedForm).toString() ? new URLSearchParams() : address;
}

function addressOfScope(
  { column, isUnfiltered, ...scope }: ScopeForm,
  entry: Pick<grants.EntryForm, 'principal' | 'description'>,
  extraParameters: Parameters<typeof grants.addressOfEntry>[1],
): URLSearchParams {
  const parameters = { ...extraParameters, column, unfiltered: isUnfiltered ? 'true' : '' };
  return grants.addressOfEntry({ ...scope, ...entry }, parameters);
}

export function missingFieldTexts({ name, kind, principal, except, count, first, second }: GuaranteeForm) {
  return {
    ...(name.trim() === '' && { name: 'Give it a name.' }),
    ...(principal === null && (kind === 'never' || kind === 'always') && { principal: 'Choose of whom it speaks.' }),
    ...(kind === 'only' && except.length === 0 && { principals: 'Name at least one.' }),
    ...(kind === 'at_most' && !/^([1-9]\d{0,3}|10000)$/.test(count) && { count: 'A number from 1 to 10000.' }),
    ...(grants.nodeOfForm(first) === null && { first: 'Choose a principal.' }),
    ...(kind === 'apart' && grants.nodeOfForm(second) === null && { second: 'Choose a principal.' }),
  };
}

/** The guarantee that a form describes, possibly without a name; null: another value is missing. */
export function guaranteeOfForm(form: GuaranteeForm): Schemas['GuaranteeDto'] | null {
  const { kind, mode, principal, count } = form;
  if (Object.keys(missingFieldTexts({ ...form, name: '-' })).length > 0) return null;
  const except = form.except.map(grants.principalWithoutName);
  const [first, second] = [form.first, form.second].map(scopeOfForm);
  const description = form.description.trim();
  return {
    ...{ name: form.name.trim(), kind, mode },
    ...(description !== '' && { description }),
    ...(kind === 'only' && { principals: except }),
    ...(kind !== 'only' && principal !== null && { principal: grants.principalWithoutName(principal) }),
    ...(hasExceptions(kind) && except.length > 0 && { except }),
    ...(kind === 'at_most' && { count: Number(count) }),
    ...(kind === 'apart' ? { first, second } : first),
  } as never;
}

function scopeOfForm(scope: ScopeForm): Scope {
  const { nodeKind, column, isUnfiltered } = scope;
  const node: object = grants.nodeWithoutNames(grants.nodeOfForm(scope) ?? {});
  const privileges = privilegesOfScope(scope);
  return {
    resource: nodeKind === 'data' && column !== '' ? { ...node, column } : node,
    ...((privileges.length > 0 || nodeKind === 'routine') && { privileges }),
    ...(nodeKind === 'data' && isUnfiltered && { unfiltered: true }),
  };
}

function privilegesOfScope(scope: ScopeForm): grants.Privilege[] {
  const node = grants.offeredNode(scope);
  const privileges = isUnrestrictedReading(scope) ? [] : grants.grantablePrivileges(scope.privileges, node, null);
  if (privileges.length > 0 || scope.nodeKind !== 'routine') return privileges;
  // Lists the privileges on routines, because a request without privileges would also mean privileges on tables.
  return grants.grantablePrivileges(grants.privilegesOn(node), grants.nodeOfForm(scope) ?? {}, null);
}

/** The text for a scope without chosen privileges: `allPrivilegesText`, or on the engine *anything but EXECUTE_QUERIES*. */
export const defaultPrivilegesText = (allPrivilegesText: string, { nodeKind }: grants.NodeForm): string =>
  nodeKind === 'engine' ? `${allPrivilegesText} but EXECUTE_QUERIES` : allPrivilegesText;

/** A guarantee in plain words, also an incomplete one: *Nobody of analysts but ana may SELECT from hr.people*. */
export function guaranteeSentence({ kind, principal, except, count, first, second }: GuaranteeForm): TextPart[] {
  const holderPart: TextPart = principal === null ? '…' : { principal };
  const isEveryone = principal === null ? isEveryoneByDefault(kind) : principal.type === 'everyone';
  const holderParts: TextPart[] = isEveryone ? [] : [' of ', holderPart];
  const isOnePrincipal = principal?.type === 'user' || principal?.type === 'engine';
  const exceptNames = joinParts(except.map((each) => ({ principal: each })));
  const exceptionParts = hasExceptions(kind) && except.length > 0 ? [' but ', ...exceptNames] : [];
  const firstAccessParts = accessParts(first, kind);
  const subjectParts: TextPart[] = isOnePrincipal
    ? [holderPart, ...exceptionParts, ' may never ']
    : ['Nobody', ...holderParts, ...exceptionParts, ' may '];
  if (kind === 'never') return [...subjectParts, ...firstAccessParts];
  if (kind === 'apart') return [...subjectParts, 'both ', ...firstAccessParts, ' and ', ...accessParts(second, kind)];
  if (kind === 'only') return ['Only ', ...(except.length === 0 ? ['…'] : exceptNames), ' may ', ...firstAccessParts];
  if (kind === 'always')
    return [...(isOnePrincipal ? [holderPart] : ['Everybody', ...holderParts]), ' may always ', ...firstAccessParts];
  const limitText = count === '1' ? '1 person or engine principal' : `${count || '…'} people and engine principals`;
  return [`At most ${limitText}`, ...holderParts, ...exceptionParts, ' may ', ...firstAccessParts];
}

/** The access of a scope in words: *SELECT or INSERT on sales.eu*, *read the real values of ssn in hr.people*. */
function accessParts(scope: ScopeForm, kind: GuaranteeKind): TextPart[] {
  const { nodeKind, column, isUnfiltered, as, queries } = scope;
  const node = { node: grants.nodeOfForm(scope) ?? {} };
  const principalPart = (principal: PrincipalRef | null): TextPart => (principal === null ? '…' : { principal });
  if (isUnrestrictedReading(scope))
    return [
      column === '' ? 'read rows of ' : `read the real values of ${column} in `,
      node,
      isUnfiltered ? ' without a row filter' : '',
    ];
  if (nodeKind === 'acting') return ['act as ', principalPart(as)];
  const privileges = privilegesOfScope(scope);
  const [everything, conjunction] = kind === 'always' ? ['everything', ' and '] : ['anything', ' or '];
  const prepositions = new Set(privileges.map(prepositionOf));
  const verbs =
    privileges.length === 0 ? [`do ${defaultPrivilegesText(everything, scope)}`] : joinParts(privileges, conjunction);
  const verbParts = [...verbs, ` ${prepositions.size === 1 ? [...prepositions].join() : 'on'} `];
  return nodeKind === 'queries' ? [...verbParts, 'queries of ', principalPart(queries)] : [...verbParts, node];
}

function joinParts(parts: readonly TextPart[], lastSeparator = ' and '): TextPart[] {
  return parts.flatMap((part, index) => [index === 0 ? '' : index === parts.length - 1 ? lastSeparator : ', ', part]);
}

export const GUARANTEE_FIELDS: grants.FieldTexts<GuaranteeForm> = [
  ['Sentence', (form) => sentenceText(guaranteeSentence(form))],
  ['Name', ({ name }) => name],
  ['Description', ({ description }) => description],
  ['Mode', ({ mode }) => mode],
];

/** The plain text of a sentence, for searches. */
export function sentenceText(parts: readonly TextPart[]): string {
  const texts = parts.map((part) => {
    if (typeof part === 'string') return part;
    return 'principal' in part ? principalName(part.principal) : 'node' in part ? pathText(part.node) : '';
  });
  return texts.join('');
}
