import type { Schemas } from '../api/client.js';
import {
  addressOfEntry,
  type EntryForm,
  entryOfAddress,
  type FieldTexts,
  grantable,
  NO_PLACE,
  type Node,
  nodeOfForm,
  offeredNode,
  placeOfNode,
  type Privilege,
  withoutName,
  withoutNames,
} from './grant-form.js';
import { nodeOfNames } from './node-path.js';
import { type Named, parsePrincipal, principalName, principalParameter } from './principal.js';

export type Policy = Schemas['PolicyResponse'];
export type Kind = Policy['kind'];

/** The values of a form of a policy. */
export interface PolicyForm extends EntryForm {
  kind: Kind;
  except: Named[];
  column: string;
  expression: string;
  /** Privileges of a deny; empty: all. */
  privileges: Privilege[];
}

export const NEW_POLICY: PolicyForm = {
  ...NO_PLACE,
  kind: 'row_filter',
  principal: null,
  except: [],
  column: '',
  expression: '',
  privileges: [],
  description: '',
};

export function formOfPolicy({ kind, principal, except, resource, ...rest }: Policy): PolicyForm {
  const { column = '' } = resource as { column?: string };
  const { expression = '', privileges = [], description } = rest;
  const texts = { column, expression, description: description ?? '' };
  return { ...placeOfNode(resource), kind, principal, except, privileges, ...texts };
}

/** @param saved the policy that is changed. `excepting` adds one exception to it; any other draft is whole. */
export function policyOfAddress(address: URLSearchParams, saved = NEW_POLICY): PolicyForm {
  const known = [saved.principal, ...saved.except];
  // Addresses hold ids alone.
  const named = (text: string): Named | null =>
    known.find((each) => each !== null && principalParameter(each) === text) ?? parsePrincipal(text);
  const excepting = named(address.get('excepting') ?? '');
  if (excepting !== null) return { ...saved, except: [...saved.except, excepting] };
  const kind = KINDS.find((each) => each === address.get('kind'));
  if (kind === undefined) return saved;
  return {
    ...entryOfAddress(address),
    kind,
    principal: named(address.get('principal') ?? ''),
    except: address.getAll('except').flatMap((text) => named(text) ?? []),
    column: address.get('column') ?? '',
    expression: address.get('expression') ?? '',
  };
}

/** Empty for a form without changes. */
export function addressOfPolicy(form: PolicyForm, saved = NEW_POLICY): URLSearchParams {
  const [address, before] = [form, saved].map(({ kind, except, column, expression, ...entry }) => {
    const place = kind === 'deny' ? entry.place : 'data';
    const more = { kind, except: except.map(principalParameter).sort(), column, expression };
    return addressOfEntry({ ...entry, place }, more);
  }) as [URLSearchParams, URLSearchParams];
  return address.toString() === before.toString() ? new URLSearchParams() : address;
}

export const hasColumn = (kind: Kind): boolean => kind === 'column_mask' || kind === 'hidden_column';
export const hasExpression = (kind: Kind): boolean => kind === 'row_filter' || kind === 'column_mask';

/** Messages for missing values of a form, by field. */
export function missingIn(form: PolicyForm): Record<string, string> {
  return {
    ...(form.principal === null && { principal: 'Choose for whom it is.' }),
    ...(hasColumn(form.kind) && form.column === '' && { column: 'Name the column.' }),
    ...(hasExpression(form.kind) && form.expression.trim() === '' && { expression: 'Write it in SQL.' }),
    ...(form.kind === 'deny' &&
      nodeOfForm(form) === null && { resource: form.place === 'queries' ? 'Say whose queries.' : 'Say as whom.' }),
  };
}

/** The policy that a form means; null: something is missing. */
export function policyOfForm(form: PolicyForm): Schemas['PolicyDto'] | null {
  const { kind, principal, except, column, expression, description } = form;
  if (principal === null || Object.keys(missingIn(form)).length > 0) return null;
  const node: Node | null = kind === 'deny' ? nodeOfForm(form) : nodeOfNames(form);
  const resource: object = node === null ? {} : withoutNames(node);
  const privileges = grantable(form.privileges, offeredNode(form), null);
  return {
    kind,
    principal: withoutName(principal),
    except: except.map(withoutName),
    resource: { ...resource, ...(hasColumn(kind) && { column }) } as never,
    ...(hasExpression(kind) && { expression }),
    ...(kind === 'deny' && privileges.length > 0 && { privileges }),
    description: description.trim() === '' ? null : description.trim(),
  };
}

export const POLICY_FIELDS: FieldTexts<PolicyForm> = [
  ['Kind', ({ kind }) => KIND_NAMES[kind]],
  ['Person or group', ({ principal }) => (principal === null ? '' : principalName(principal))],
  ['Except', ({ except }) => except.map(principalName).sort().join(', ')],
  [
    'Where',
    ({ place, catalog, schema, table, routine, as, queries }) =>
      [place, catalog, schema, table, routine, ...[as ?? queries ?? []].flat().map(principalName)].join(' ').trim(),
  ],
  ['Column', ({ column }) => column],
  ['Expression', ({ expression }) => expression],
  ['Privileges', ({ privileges }) => privileges.join(', ')],
  ['Description', ({ description }) => description],
];

const KINDS: readonly Kind[] = ['row_filter', 'column_mask', 'hidden_column', 'deny'];

export const KIND_NAMES: Record<Kind, string> = {
  row_filter: 'Row filter',
  column_mask: 'Column mask',
  hidden_column: 'Hidden column',
  deny: 'Deny',
};

/** Further things that a policy closes, because they lead around its restriction (docs/limits.md). */
export const ALSO_CLOSED: Record<Kind, string> = {
  row_filter: 'It also closes companion tables such as orders$files, UPDATE, DELETE and ownership.',
  column_mask:
    'It also closes companion tables such as orders$files, the columns $path, $partition, $bucket, all writing and ownership.',
  hidden_column:
    'It also closes companion tables such as orders$files, the columns $path, $partition, $bucket, and ownership.',
  deny: 'Where it takes SELECT it also closes companion tables such as orders$files, and ownership.',
};
