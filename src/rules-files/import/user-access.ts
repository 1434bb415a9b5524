import { combined, type Privilege, PRIVILEGE_TERMS, privilegesOn, taken } from '../../trino-rules/model/privilege.js';
import type { Node } from '../../trino-rules/model/node.js';
import type { SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import { NO_OUTCOME, type NodeOutcome } from './node-outcome.js';

/** A node with what is to hold there and, for names that the file does not spell out, below it. */
export interface OutcomeNode {
  resource: Node;
  outcome: NodeOutcome;
  below: OutcomeNode[];
}

/** Grants and policies for one user, or for all users that are alike. */
export interface UserAccess {
  grants: { resource: Node; privileges: Privilege[] }[];
  denies: { resource: Node; privileges: Privilege[] }[];
  filters: { resource: Node; expression: string }[];
  hidden: { resource: Node & { column: string } }[];
  masks: { resource: Node & { column: string }; expression: string }[];
}

type Details<P> = P extends SnapshotPolicy ? Omit<P, 'id' | 'principal' | 'except'> : never;
export type PolicyDetails = Details<SnapshotPolicy>;

export interface Given {
  resource: Node;
  privilege: Privilege;
}

/** One privilege on a node, or one policy, and all users and joiners who are to have it. */
export interface Row<T> {
  what: T;
  names: Set<string>;
}

/**
 * Says an outcome for each node as grants, which add up downwards, and policies, which reach down and cannot be taken back below.
 * What a node above cannot give without giving too much below it does not give: never more access, at the cost of unnamed nodes.
 */
export function accessOf(root: OutcomeNode): UserAccess {
  const access: UserAccess = { grants: [], denies: [], filters: [], hidden: [], masks: [] };
  state(narrowed(root), NO_OUTCOME, access);
  return access;
}

/** Takes out of wide nodes what the nodes below them cannot do without. */
function narrowed({ resource, outcome, below }: OutcomeNode): OutcomeNode {
  const nodes = below.map(narrowed);
  const reached = nodes.flatMap(descendants).filter((node) => node.outcome.privileges.size > 0);
  const isInheritable = reached.every((node) => mayInherit(node.outcome, outcome));
  if (!isInheritable) return { resource, outcome: NO_OUTCOME, below: nodes };
  // A deny on a node reaches all below it: it is possible only where nothing below has the privilege.
  const lacks = (privilege: Privilege) =>
    nodes.some(
      (node) =>
        deniedAmong(node, privilege) && descendants(node).some((each) => each.outcome.privileges.has(privilege)),
    );
  const privileges = new Set([...outcome.privileges].filter((privilege) => !lacks(privilege)));
  const lost = [...outcome.privileges].filter((privilege) => !privileges.has(privilege));
  for (const privilege of taken(lost)) privileges.delete(privilege);
  return { resource, outcome: privileges.size === 0 ? NO_OUTCOME : { ...outcome, privileges }, below: nodes };
}

/** Whether policies of a node above can hold at one below it: filters and hidden columns add up, a nearer mask replaces a wider one. */
function mayInherit(below: NodeOutcome, above: NodeOutcome): boolean {
  return (
    [...above.filters].every((filter) => below.filters.has(filter)) &&
    [...above.hidden].every((column) => below.hidden.has(column)) &&
    [...above.masks.keys()].every((column) => below.hidden.has(column) || below.masks.has(column))
  );
}

/** Whether a node lacks the privilege itself, while a node below has it. */
function deniedAmong({ outcome }: OutcomeNode, privilege: Privilege): boolean {
  return !outcome.privileges.has(privilege);
}

function descendants(node: OutcomeNode): OutcomeNode[] {
  return [node, ...node.below.flatMap(descendants)];
}

/** Of what can be held there: what the second has and the first has not. */
function lackingAt(resource: Node, { privileges }: NodeOutcome, others: NodeOutcome): Privilege[] {
  return privilegesOn(resource).filter((privilege) => !privileges.has(privilege) && others.privileges.has(privilege));
}

function seesLess({ filters, hidden, masks }: NodeOutcome): boolean {
  return filters.size + hidden.size + masks.size > 0;
}

function state({ resource, outcome, below }: OutcomeNode, inherited: NodeOutcome, access: UserAccess): void {
  const { privileges } = outcome;
  const more = lackingAt(resource, inherited, outcome);
  const lacking = lackingAt(resource, outcome, inherited);
  // Ownership yields to what restricts the node or, of a schema, its tables: no deny says so once more.
  const isRestricted =
    seesLess(outcome) || lacking.some((privilege) => !PRIVILEGE_TERMS[privilege].yieldsToRestrictions);
  const isRestrictedBelow =
    resource.schema !== undefined &&
    below.some((table) => seesLess(table.outcome) || lackingAt(table.resource, table.outcome, outcome).length > 0);
  const less = lacking.filter((privilege) => {
    const { yieldsToRestrictions, ownsSchemas } = PRIVILEGE_TERMS[privilege];
    return !(yieldsToRestrictions && (isRestricted || (ownsSchemas && isRestrictedBelow)));
  });
  if (more.length > 0) access.grants.push({ resource, privileges: combined(more) });
  // Where nothing is left of a table, its companions are closed with it: only a deny of SELECT does that.
  const isClosed = resource.table !== undefined && privileges.size === 0 && !less.includes('SELECT');
  const denied: Privilege[] = isClosed ? ['SELECT', ...less] : less;
  if (less.length > 0) access.denies.push({ resource, privileges: combined(denied) });
  for (const expression of outcome.filters)
    if (!inherited.filters.has(expression)) access.filters.push({ resource, expression });
  for (const column of outcome.hidden)
    if (!inherited.hidden.has(column)) access.hidden.push({ resource: { ...resource, column } });
  for (const [column, expression] of outcome.masks)
    if (inherited.masks.get(column) !== expression)
      access.masks.push({ resource: { ...resource, column }, expression });
  // Restrictions of a node above hold below it, with access or without.
  const here = privileges.size === 0 ? { ...inherited, privileges } : outcome;
  for (const node of below) state(node, here, access);
}
