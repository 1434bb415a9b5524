import type { Schemas } from '../api/client.js';
import {
  grantAddress,
  type Node,
  nodeOfForm,
  nodeFormFromAddress,
  nodeFormOf,
  type Privilege,
  PRIVILEGES,
  privilegesOn,
  writeNode,
} from './grant-form.js';
import { pathText } from './node-path.js';
import { POLICY_KIND_NAMES } from './policy-form.js';
import { type PrincipalRef, parsePrincipal, principalName, principalParameter, type TextPart } from './principal.js';

/** The address of the page *Why* about a principal, a privilege and a node. */
export function whyAddress(principal: PrincipalRef, privilege: string, node: object): string {
  const parameters = new URLSearchParams({ principal: principalParameter(principal), privilege });
  const form = nodeFormOf(node);
  if (form.nodeKind === 'engine') parameters.set('engine', 'true');
  writeNode(form, parameters);
  return `/why?${parameters.toString()}`;
}

interface AccessEntry {
  resource: object;
  privileges: readonly Privilege[];
  origins: readonly { grant_id: number }[];
}

/** Whether a node is about a group or everyone: acting as them, or their queries. The page *Why* cannot explain such nodes. */
export function isAboutSeveralPeople({ as, queries = as }: Node): boolean {
  return queries?.type === 'group' || queries?.type === 'everyone';
}

/** The address that explains an access: the page *Why*, or the page of the access's grant if *Why* cannot explain it. Null: no grant is known. */
export function whyAddressOfEntry(principal: PrincipalRef, { resource, privileges, origins }: AccessEntry) {
  const node = resource as Node;
  if (isAboutSeveralPeople(node)) return origins[0] === undefined ? null : grantAddress(origins[0].grant_id);
  return whyAddress(principal, privileges[0] ?? privilegesOn(node)[0] ?? 'SELECT', node);
}

export interface WhyQuestion {
  /** The principal that the question is about. Null: not chosen yet, or the signed-in person. */
  principal: PrincipalRef | null;
  privilege: Privilege;
  node: Node;
}

export function questionFromAddress(address: URLSearchParams): WhyQuestion {
  return {
    principal: parsePrincipal(address.get('principal')),
    privilege: PRIVILEGES.find((each) => each === address.get('privilege')) ?? 'SELECT',
    node: nodeOfForm(nodeFormFromAddress(address)) ?? {},
  };
}

export function nodeWithPrincipalName(node: Node, name: string): Node {
  const { as, queries } = node;
  if (name === '' || (as ?? queries) === undefined) return node;
  return (as === undefined ? { queries: { ...queries, name } } : { as: { ...as, name } }) as Node;
}

const PREPOSITIONS: Partial<Record<Privilege, string>> = { SELECT: 'from', DELETE: 'from', INSERT: 'into' };

/** The word between a privilege and a node: *from*, *into* or *on*. */
export function prepositionOf(privilege: Privilege): string {
  return PREPOSITIONS[privilege] ?? 'on';
}

type Restriction = Schemas['ExplanationResponse']['restrictions'][number];
/** Two fields of a resource in the API. Not every kind of resource has them. */
type TableAndColumn = Partial<Record<'table' | 'column', string>>;

/** Why restrictions remove an access: *deny 4 on sales.eu takes it*. For a metadata table such as `orders$files`: *row filter 3 on sales.eu.orders closes companion tables, too*. */
export function restrictionText(restrictions: readonly Restriction[], { table }: Pick<Node, 'table'>): string {
  const decidingRestrictions = restrictions.filter((restriction) => !isForBaseTable(restriction, table));
  const policyTexts = (decidingRestrictions.length > 0 ? decidingRestrictions : restrictions).map(
    ({ kind, policy_id: id, resource }) =>
      `${POLICY_KIND_NAMES[kind].toLowerCase()} ${id} on ${[pathText(resource), (resource as TableAndColumn).column ?? []].flat().join('.')}`,
  );
  const [verb, object] = decidingRestrictions.length > 0 ? ['take', 'it'] : ['close', 'companion tables, too'];
  return `${policyTexts.join(', ')} ${verb}${policyTexts.length === 1 ? 's' : ''} ${object}`;
}

/** Whether a policy denies a companion table such as `orders$files` only because the policy restricts the base table or a node above. */
function isForBaseTable({ kind, resource }: Restriction, table = ''): boolean {
  const { table: policyTable } = resource as TableAndColumn;
  return table.includes('$') && (policyTable === undefined ? kind !== 'deny' : policyTable !== table);
}

type Step = Schemas['ChangeStepResponse'];

/** A step of the nearest change as a sentence: *Grant SELECT on sales.eu to ana.* @param asker the principal who is called *you*; null: nobody is */
export function stepSentence(step: Step, asker: PrincipalRef | null): TextPart[] {
  const { kind, principal = asker ?? { type: '' }, resource = {}, privileges = [] } = step;
  const isAsker = asker !== null && principalParameter(principal) === principalParameter(asker);
  // People who ask about themselves may not open the pages of others.
  const person = isAsker ? 'you' : asker === null ? { principal } : principalName(principal);
  const node = { node: resource };
  switch (kind) {
    case 'grant':
      return ['Grant ', { privileges }, ' on ', node, ' to ', person, '.'];
    case 'revoke':
      return [`Revoke grant ${step.grant_id}.`];
    case 'except':
      return ['Except ', person, ` from policy ${step.policy_id}.`];
    case 'deny':
      return ['Deny ', { privileges }, ' on ', node, ' for ', person, '.'];
    case 'hidden_column':
      return [`Hide column ${(resource as TableAndColumn).column ?? ''} of `, node, ' from ', person, '.'];
    case 'activate':
      return ['Activate the account of ', person, '.'];
  }
}

/** A text with which a person can ask an administrator for the nearest change: *Please, for ana: Except ana from policy 9.* */
export function requestText(steps: readonly Step[], asker: PrincipalRef): string {
  const partText = (part: TextPart): string => {
    if (typeof part === 'string') return part;
    if ('node' in part) return pathText(part.node);
    if ('privileges' in part) return part.privileges.join(', ');
    return 'principal' in part ? principalName(part.principal) : '';
  };
  const sentences = steps.map((step) => stepSentence(step, null).map(partText).join(''));
  return `Please, for ${principalName(asker)}: ${sentences.join(' ')}`;
}
