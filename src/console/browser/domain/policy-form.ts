import type { Schemas } from '../api/client.js';
import * as grants from './grant-form.js';
import { nodeAt } from './node-path.js';
import { type PrincipalRef, parsePrincipal, principalName, principalParameter } from './principal.js';

export type Policy = Schemas['PolicyResponse'];
export type PolicyKind = Policy['kind'];

export interface PolicyForm extends grants.EntryForm {
  kind: PolicyKind;
  except: PrincipalRef[];
  column: string;
  expression: string;
  /** The privileges that a policy of the kind `deny` denies; empty: all. */
  privileges: grants.Privilege[];
}

export const NEW_POLICY: PolicyForm = {
  ...grants.EMPTY_NODE_FORM,
  ...{ kind: 'row_filter', principal: null, except: [], column: '', expression: '', privileges: [], description: '' },
};

export function formOfPolicy({ kind, principal, except, resource, ...otherFields }: Policy): PolicyForm {
  const { column = '' } = resource as { column?: string };
  const { expression = '', privileges = [], description } = otherFields;
  const textFields = { column, expression, description: description ?? '' };
  return { ...grants.nodeFormOf(resource), kind, principal, except, privileges, ...textFields };
}

/** Reads the form from an address. An address parameter `excepting` adds an exception to `savedForm`. @param savedForm returned if the address contains no draft */
export function policyFormFromAddress(address: URLSearchParams, savedForm = NEW_POLICY): PolicyForm {
  const knownPrincipals = [savedForm.principal, ...savedForm.except];
  // Addresses contain only ids, so the names of principals are taken from the saved policy.
  const parseKnownPrincipal = (text: string): PrincipalRef | null =>
    knownPrincipals.find((each) => each !== null && principalParameter(each) === text) ?? parsePrincipal(text);
  const addedException = parseKnownPrincipal(address.get('excepting') ?? '');
  if (addedException !== null) return { ...savedForm, except: [...savedForm.except, addedException] };
  const kind = POLICY_KINDS.find((each) => each === address.get('kind'));
  if (kind === undefined) return savedForm;
  return {
    ...grants.entryFromAddress(address),
    kind,
    principal: parseKnownPrincipal(address.get('principal') ?? ''),
    except: address.getAll('except').flatMap((text) => parseKnownPrincipal(text) ?? []),
    column: address.get('column') ?? '',
    expression: address.get('expression') ?? '',
  };
}

/** The address parameters of a form; empty if it equals `savedForm`. */
export function addressOfPolicy(form: PolicyForm, savedForm = NEW_POLICY): URLSearchParams {
  const writeForm = ({ kind, except, column, expression, ...entry }: PolicyForm): URLSearchParams => {
    const nodeKind = kind === 'deny' ? entry.nodeKind : 'data';
    const extraParameters = { kind, except: except.map(principalParameter).sort(), column, expression };
    return grants.addressOfEntry({ ...entry, nodeKind }, extraParameters);
  };
  const address = writeForm(form);
  return address.toString() === writeForm(savedForm).toString() ? new URLSearchParams() : address;
}

export const hasColumn = (kind: PolicyKind): boolean => kind === 'column_mask' || kind === 'hidden_column';
export const hasExpression = (kind: PolicyKind): boolean => kind === 'row_filter' || kind === 'column_mask';

export function missingFieldTexts(form: PolicyForm): Record<string, string> {
  return {
    ...(form.principal === null && { principal: 'Choose for whom it is.' }),
    ...(hasColumn(form.kind) && form.column === '' && { column: 'Name the column.' }),
    ...(hasExpression(form.kind) && form.expression.trim() === '' && { expression: 'Write it in SQL.' }),
    ...(form.kind === 'deny' && grants.nodeOfForm(form) === null && { resource: grants.missingNodeText(form) }),
  };
}

/** The policy that a form describes; null: the form is incomplete. */
export function policyOfForm(form: PolicyForm): Schemas['PolicyDto'] | null {
  const { kind, principal, except, column, expression, description } = form;
  if (principal === null || Object.keys(missingFieldTexts(form)).length > 0) return null;
  const node: grants.Node | null =
    kind === 'deny' ? grants.nodeOfForm(form) : nodeAt([form.catalog, form.schema, form.table]);
  const resource: object = node === null ? {} : grants.nodeWithoutNames(node);
  const privileges = grants.grantablePrivileges(form.privileges, grants.offeredNode(form), null);
  return {
    kind,
    principal: grants.principalWithoutName(principal),
    except: except.map(grants.principalWithoutName),
    resource: { ...resource, ...(hasColumn(kind) && { column }) } as never,
    ...(hasExpression(kind) && { expression }),
    ...(kind === 'deny' && privileges.length > 0 && { privileges }),
    description: description.trim() === '' ? null : description.trim(),
  };
}

export const POLICY_FIELDS: grants.FieldTexts<PolicyForm> = [
  ['Kind', ({ kind }) => POLICY_KIND_NAMES[kind]],
  ['Person or group', ({ principal }) => (principal === null ? '' : principalName(principal))],
  ['Except', ({ except }) => except.map(principalName).sort().join(', ')],
  [
    'Where',
    ({ nodeKind, catalog, schema, table, routine, as, queries }) =>
      [nodeKind, catalog, schema, table, routine, ...[as ?? queries ?? []].flat().map(principalName)].join(' ').trim(),
  ],
  ['Column', ({ column }) => column],
  ['Expression', ({ expression }) => expression],
  ['Privileges', ({ privileges }) => privileges.join(', ')],
  ['Description', ({ description }) => description],
];

const POLICY_KINDS: readonly PolicyKind[] = ['row_filter', 'column_mask', 'hidden_column', 'deny'];

export const POLICY_KIND_NAMES: Record<PolicyKind, string> = {
  row_filter: 'Row filter',
  column_mask: 'Column mask',
  hidden_column: 'Hidden column',
  deny: 'Deny',
};

/** Texts on what a policy denies besides its restriction, because that access would bypass the restriction (docs/limits.md). */
export const ALSO_CLOSED_TEXTS: Record<PolicyKind, string> = {
  row_filter: 'It also closes companion tables such as orders$files, UPDATE, DELETE and ownership.',
  column_mask:
    'It also closes companion tables such as orders$files, the columns $path, $partition, $bucket, all writing and ownership.',
  hidden_column:
    'It also closes companion tables such as orders$files, the columns $path, $partition, $bucket, and ownership.',
  deny: 'Where it takes SELECT it also closes companion tables such as orders$files, and ownership.',
};
