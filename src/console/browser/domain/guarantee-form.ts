import { withSums } from '../../../trino-rules/model/privilege.js';
import type { Schemas } from '../api/client.js';
import type { Part } from './audit-text.js';
import * as grants from './grant-form.js';
import { pathText } from './node-path.js';
import { type Named, parsePrincipal, principalName, principalParameter } from './principal.js';
import { prepositionOf } from './why-address.js';

export type Guarantee = Schemas['GuaranteeResponse'];
export type GuaranteeKind = Guarantee['kind'];

/** Privileges on a node and everything below it; none are those of `defaultText`. */
export interface ScopeForm extends grants.PlaceForm {
  privileges: grants.Privilege[];
  /** Only reading the real values of this column; empty: of no column. */
  column: string;
  isUnfiltered: boolean;
}

/** The values of a form of a guarantee. Requests leave out the fields that its kind lacks. */
export interface GuaranteeForm extends Pick<grants.EntryForm, 'principal' | 'description'> {
  name: string;
  kind: GuaranteeKind;
  mode: Guarantee['mode'];
  /** Exceptions; for `only` the principals that are allowed. */
  except: Named[];
  count: string;
  first: ScopeForm;
  /** Of `apart`. */
  second: ScopeForm;
}

const NO_SCOPE: ScopeForm = { ...grants.NO_PLACE, privileges: [], column: '', isUnfiltered: false };

export const NEW_GUARANTEE: GuaranteeForm = {
  ...{ name: '', description: '', kind: 'never', mode: 'enforced', principal: null, except: [], count: '5' },
  ...{ first: NO_SCOPE, second: NO_SCOPE },
};

export const GUARANTEE_KINDS = [
  ['never', 'Never'],
  ['only', 'Only'],
  ['always', 'Always'],
  ['apart', 'Apart'],
  ['at_most', 'At most'],
] as const;

/** Whether it refuses what would break it. `always` never does: it could hold back a revoke. */
export const isRefusing = ({ kind, mode }: Pick<Guarantee, 'kind' | 'mode'>): boolean =>
  mode === 'enforced' && kind !== 'always';
export const hasExceptions = (kind: GuaranteeKind): boolean => kind !== 'only' && kind !== 'always';
/** Without a principal it speaks of everyone. */
export const isOfEveryone = (kind: GuaranteeKind): boolean => kind === 'apart' || kind === 'at_most';

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
  const { column = '', ...node } = resource as WithColumn;
  const form = { ...grants.placeOfNode(node), column, isUnfiltered, privileges: [...privileges] };
  const all = withSums(grants.privilegesOn(node).filter((each) => each !== 'EXECUTE_QUERIES'));
  return isReading(form) || all.join() === privileges.join() ? { ...form, privileges: [] } : form;
}

type WithColumn = grants.Node & { column?: string };

/** Whether a scope is about reading rows as they are: its privilege is SELECT then. */
export function isReading({ place, column, isUnfiltered }: ScopeForm): boolean {
  return place === 'data' && (column !== '' || isUnfiltered);
}

/** @param saved the guarantee that is changed: an address without a draft means it */
export function guaranteeOfAddress(address: URLSearchParams, saved = NEW_GUARANTEE): GuaranteeForm {
  const [kind] = GUARANTEE_KINDS.find(([each]) => each === address.get('kind')) ?? [];
  if (kind === undefined) return saved;
  const { principal, description } = grants.entryOfAddress(address);
  return {
    ...{ kind, principal, description, name: address.get('name') ?? '', count: address.get('count') ?? '' },
    mode: address.get('mode') === 'reported' ? 'reported' : 'enforced',
    except: address.getAll('except').flatMap((text) => parsePrincipal(text) ?? []),
    first: scopeOfAddress(address),
    second: scopeOfAddress(new URLSearchParams(address.get('and') ?? '')),
  };
}

function scopeOfAddress(address: URLSearchParams): ScopeForm {
  const { principal: _, description: __, ...place } = grants.entryOfAddress(address);
  return { ...place, column: address.get('column') ?? '', isUnfiltered: address.has('unfiltered') };
}

/** Empty for a form without changes. */
export function addressOfGuarantee(form: GuaranteeForm, saved = NEW_GUARANTEE): URLSearchParams {
  const [address, before] = [form, saved].map(({ first, second, principal, description, except, ...texts }) => {
    const and = addressOfScope(second, { principal: null, description: '' }, {}).toString();
    return addressOfScope(
      first,
      { principal, description },
      { ...texts, and, except: except.map(principalParameter).sort() },
    );
  }) as [URLSearchParams, URLSearchParams];
  return address.toString() === before.toString() ? new URLSearchParams() : address;
}

function addressOfScope(
  { column, isUnfiltered, ...scope }: ScopeForm,
  entry: Pick<grants.EntryForm, 'principal' | 'description'>,
  more: Parameters<typeof grants.addressOfEntry>[1],
): URLSearchParams {
  return grants.addressOfEntry({ ...scope, ...entry }, { ...more, column, unfiltered: isUnfiltered ? 'true' : '' });
}

/** Messages for missing values of a form, by field. */
export function missingIn({ name, kind, principal, except, count, first, second }: GuaranteeForm) {
  return {
    ...(name.trim() === '' && { name: 'Give it a name.' }),
    ...(principal === null && (kind === 'never' || kind === 'always') && { principal: 'Choose of whom it speaks.' }),
    ...(kind === 'only' && except.length === 0 && { principals: 'Name at least one.' }),
    ...(kind === 'at_most' && !/^([1-9]\d{0,3}|10000)$/.test(count) && { count: 'A number from 1 to 10000.' }),
    ...(grants.nodeOfForm(first) === null && { first: 'Choose a principal.' }),
    ...(kind === 'apart' && grants.nodeOfForm(second) === null && { second: 'Choose a principal.' }),
  };
}

/** The guarantee that a form means, whose name may still be missing; null: something else is. */
export function guaranteeOfForm(form: GuaranteeForm): Schemas['GuaranteeDto'] | null {
  const { kind, mode, principal, count } = form;
  if (Object.keys(missingIn({ ...form, name: '-' })).length > 0) return null;
  const except = form.except.map(grants.withoutName);
  const [first, second] = [form.first, form.second].map(scopeOfForm);
  const description = form.description.trim();
  return {
    ...{ name: form.name.trim(), kind, mode },
    ...(description !== '' && { description }),
    ...(kind === 'only' ? { principals: except } : principal !== null && { principal: grants.withoutName(principal) }),
    ...(hasExceptions(kind) && except.length > 0 && { except }),
    ...(kind === 'at_most' && { count: Number(count) }),
    ...(kind === 'apart' ? { first, second } : first),
  } as never;
}

function scopeOfForm(scope: ScopeForm): Scope {
  const { place, column, isUnfiltered } = scope;
  const node: object = grants.withoutNames(grants.nodeOfForm(scope) ?? {});
  const privileges = privilegesIn(scope);
  return {
    resource: place === 'data' && column !== '' ? { ...node, column } : node,
    ...((privileges.length > 0 || place === 'routine') && { privileges }),
    ...(place === 'data' && isUnfiltered && { unfiltered: true }),
  };
}

function privilegesIn(scope: ScopeForm): grants.Privilege[] {
  const offered = grants.offeredNode(scope);
  const chosen = isReading(scope) ? [] : grants.grantable(scope.privileges, offered, null);
  if (chosen.length > 0 || scope.place !== 'routine') return chosen;
  // The node may be a schema or a catalog, whose default has privileges on tables as well.
  return grants.grantable(grants.privilegesOn(offered), grants.nodeOfForm(scope) ?? {}, null);
}

/** The privileges that a guarantee is about if none is chosen: *anything but EXECUTE_QUERIES*. */
export const defaultText = (all: string, { place }: grants.PlaceForm): string =>
  place === 'engine' ? `${all} but EXECUTE_QUERIES` : all;

/** A guarantee in plain words, also an incomplete one: *Nobody of analysts but ana may SELECT from hr.people*. */
export function sentenceOf({ kind, principal, except, count, first, second }: GuaranteeForm): Part[] {
  const whom: Part = principal === null ? '…' : { principal };
  const isEveryone = principal === null ? isOfEveryone(kind) : principal.type === 'everyone';
  const of: Part[] = isEveryone ? [] : [' of ', whom];
  const isOne = principal?.type === 'user' || principal?.type === 'engine';
  const others = listOf(except.map((each) => ({ principal: each })));
  const but = hasExceptions(kind) && except.length > 0 ? [' but ', ...others] : [];
  const act = actOf(first, kind);
  const nobody: Part[] = isOne ? [whom, ...but, ' may never '] : ['Nobody', ...of, ...but, ' may '];
  if (kind === 'never') return [...nobody, ...act];
  if (kind === 'apart') return [...nobody, 'both ', ...act, ' and ', ...actOf(second, kind)];
  if (kind === 'only') return ['Only ', ...(except.length === 0 ? ['…'] : others), ' may ', ...act];
  if (kind === 'always') return [...(isOne ? [whom] : ['Everybody', ...of]), ' may always ', ...act];
  const counted = count === '1' ? '1 person or engine principal' : `${count || '…'} people and engine principals`;
  return [`At most ${counted}`, ...of, ...but, ' may ', ...act];
}

/** *SELECT or INSERT on sales.eu*, *read the real values of ssn in hr.people*. */
function actOf(scope: ScopeForm, kind: GuaranteeKind): Part[] {
  const { place, column, isUnfiltered, as, queries } = scope;
  const node = { node: grants.nodeOfForm(scope) ?? {} };
  const named = (principal: Named | null): Part => (principal === null ? '…' : { principal });
  if (isReading(scope))
    return [
      column === '' ? 'read rows of ' : `read the real values of ${column} in `,
      node,
      isUnfiltered ? ' without a row filter' : '',
    ];
  if (place === 'acting') return ['act as ', named(as)];
  const privileges = privilegesIn(scope);
  const [all, or] = kind === 'always' ? ['everything', ' and '] : ['anything', ' or '];
  const prepositions = new Set(privileges.map(prepositionOf));
  const verbs = privileges.length === 0 ? [`do ${defaultText(all, scope)}`] : listOf(privileges, or);
  const words = [...verbs, ` ${prepositions.size === 1 ? [...prepositions].join() : 'on'} `];
  return place === 'queries' ? [...words, 'queries of ', named(queries)] : [...words, node];
}

function listOf(parts: readonly Part[], last = ' and '): Part[] {
  return parts.flatMap((part, at) => [at === 0 ? '' : at === parts.length - 1 ? last : ', ', part]);
}

export const GUARANTEE_FIELDS: grants.FieldTexts<GuaranteeForm> = [
  ['Sentence', (form) => textOf(sentenceOf(form))],
  ['Name', ({ name }) => name],
  ['Description', ({ description }) => description],
  ['Mode', ({ mode }) => mode],
];

/** A sentence as text, to be searched. */
export function textOf(parts: readonly Part[]): string {
  const texts = parts.map((part) => {
    if (typeof part === 'string') return part;
    return 'principal' in part ? principalName(part.principal) : 'node' in part ? pathText(part.node) : '';
  });
  return texts.join('');
}
