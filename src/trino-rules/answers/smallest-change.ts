import { decide, privilegesFor, readsColumns } from '../model/decision.js';
import { type Intent, OPEN_SYSTEM_SCHEMAS } from '../model/intent.js';
import type { Principal } from '../model/principal.js';
import { isServiceAccount, Principals } from '../model/principals.js';
import { type Privilege, privilegesOn, taken, withContained } from '../model/privilege.js';
import {
  columnOf,
  type DataQuestion,
  isAboutData,
  isAtNode,
  type NodeQuestion,
  type Question,
} from '../model/question.js';
import { nodeKey, nodeOf, type Node } from '../model/node.js';
import { type ColumnResource, closedProblem } from '../model/resource.js';
import type { SnapshotPolicy } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';
import { effectiveAccess } from './effective-access.js';
import { carrying, nearestMasks, obstacles } from './explanation.js';

/** A change that an administrator can make. */
export type Change =
  | { kind: 'grant'; principal: Principal; resource: Node; privileges: Privilege[] }
  | { kind: 'revoke'; grant: number }
  /** One more exception of a policy. */
  | { kind: 'except'; policy: number; principal: Principal }
  | { kind: 'deny'; principal: Principal; resource: Node; privileges: Privilege[] }
  | { kind: 'hidden_column'; principal: Principal; resource: ColumnResource }
  | { kind: 'activate'; user: number };

/**
 * The fewest changes after which the answer is the other one, for this principal and no wider node than asked; each of them is
 * needed. Null: the answer follows from the settings or from other access, or the node is closed to grants.
 */
export function smallestChange(index: AccessIndex, principal: Principal, question: Question): Change[] | null {
  const snapshot = index.of(principal);
  if (isServiceAccount(snapshot, principal) || !isAtNode(question)) return null;
  const { resource } = question;
  const { allowed, intent } = decide(snapshot, principal, question);
  if (allowed) return withdrawing(index, principal, question, intent);

  const activate: Change[] = snapshot.users.flatMap(({ id, isActive }) =>
    isActive ? [] : [{ kind: 'activate', user: id }],
  );
  const active = { ...snapshot, users: snapshot.users.map((user) => ({ ...user, isActive: true })) };
  const isKnown = principal.type !== 'engine' || index.principals.through({ type: 'everyone' }, principal) !== null;
  const known = new Principals(active, isKnown ? [] : [principal.name]);
  const { intent: then, ...decision } = decide(active, principal, question, known);
  if (isOpenSystem(resource)) return decision.allowed ? activate : null;
  if (closedProblem(resource, snapshot.settings.metadataCatalog) !== null) return null;
  const asked = privilegesFor(question).slice(0, 1);
  if (asked.length === 0) return null;
  const granting: Change[] =
    isKnown && carrying(then, question).length > 0 ? [] : [{ kind: 'grant', principal, resource, privileges: asked }];
  const policies = isAboutData(question) ? withoutOneMask(then, question) : decision.denies.map(({ source }) => source);
  const excepting = policies.map(({ id }): Change => ({ kind: 'except', policy: id, principal }));
  return [...activate, ...granting, ...excepting];
}

/** The obstacles, less the masks of one expression, which then is the column's only one. */
function withoutOneMask(intent: Intent, question: DataQuestion): SnapshotPolicy[] {
  const policies = obstacles(intent, question);
  const masks = nearestMasks(policies, question.column ?? '');
  const count = (expression: string): number => masks.filter((mask) => mask.expression === expression).length;
  const [kept] = [...masks].sort((a, b) => count(b.expression) - count(a.expression));
  return policies.filter((policy) => policy.kind !== 'column_mask' || policy.expression !== kept?.expression);
}

function withdrawing(
  index: AccessIndex,
  principal: Principal,
  question: NodeQuestion,
  intent: Intent,
): Change[] | null {
  const { resource } = question;
  const column = columnOf(question);
  if (isOpenSystem(resource)) {
    const widest = effectiveAccess(index, principal).flatMap(({ resource: { catalog }, access }) =>
      access.privileges.length > 0 ? [nodeOf({ catalog })] : [],
    );
    return [...new Map(widest.map((node) => [nodeKey(node), node])).values()].map((node) => ({
      kind: 'deny',
      principal,
      resource: node,
      privileges: privilegesOn(node),
    }));
  }
  if (closedProblem(resource, index.snapshot.settings.metadataCatalog) !== null) return null;
  if (column !== undefined && readsColumns(question)) {
    return [{ kind: 'hidden_column', principal, resource: { ...resource, column } }];
  }
  const revoked = onlyGrant(intent, question);
  if (revoked !== null) return [{ kind: 'revoke', grant: revoked }];
  return [{ kind: 'deny', principal, resource, privileges: privilegesFor(question) }];
}

/** The grant to this very principal at this very node that gives the privilege and nothing else; null: a revoke would take more or less. */
function onlyGrant(intent: Intent, question: NodeQuestion): number | null {
  const [grant, ...others] = carrying(intent, question);
  const origin = intent.grants.find(({ source }) => source === grant);
  if (grant === undefined || others.length > 0 || origin?.through !== 'directly' || origin.inheritedFrom !== null)
    return null;
  const lost = taken(privilegesFor(question));
  return [...withContained(grant.privileges)].every((privilege) => lost.has(privilege)) ? grant.id : null;
}

function isOpenSystem({ catalog, schema }: Node): boolean {
  return catalog === 'system' && schema !== undefined && OPEN_SYSTEM_SCHEMAS.includes(schema);
}
