import {
  decide,
  type Decision,
  privilegesFor,
  readsColumns,
  yieldsToRestrictions,
  yieldsToRowsOrValues,
} from '../model/decision.js';
import { canBeActedAs, principalNamed } from '../model/named-others.js';
import { type Origin } from '../model/intent.js';
import { type Principal, principalText } from '../model/principal.js';
import { isServiceAccount, Principals } from '../model/principals.js';
import { holderProblem, type Privilege, privilegesOn, withTaken, withContained } from '../model/privilege.js';
import { EXECUTING, grantedOnEngine } from '../model/rights.js';
import { isAboutData, isAtNode, type Question } from '../model/question.js';
import { type Node, SYSTEM } from '../model/node.js';
import { closedProblem, isOpenSystem, type ColumnResource } from '../model/resource.js';
import { closesCompanion } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';
import { nearestMasks, obstacles } from './explanation.js';

export type Change =
  | { kind: 'grant'; principal: Principal; resource: Node; privileges: Privilege[] }
  | { kind: 'revoke'; grant: number }
  /** A new exception of a policy. */
  | { kind: 'except'; policy: number; principal: Principal }
  | { kind: 'deny'; principal: Principal; resource: Node; privileges: Privilege[] }
  | { kind: 'hidden_column'; principal: Principal; resource: ColumnResource }
  | { kind: 'activate'; user: number };

/**
 * The fewest changes that reverse the answer, for this principal only and on no wider node than asked. Null: no such change exists,
 * because of the settings or other access, because the node is closed to grants, or because the principal cannot hold the right.
 */
export function smallestChange(index: AccessIndex, principal: Principal, about: Question): Change[] | null {
  const isActing = about.about === 'impersonation';
  const snapshot = isActing ? index.snapshot : index.of(principal);
  const question = askedOfTable(about);
  const asked = grantFor(about, index.principals);
  if (isServiceAccount(snapshot, principal) || asked === null) return null;
  const { resource, privileges } = asked;
  if (closedProblem(resource, snapshot.settings.metadataCatalog) !== null) return null;
  if (resource.queries !== undefined && isServiceAccount(snapshot, resource.queries)) return null;
  if (privileges.length === 0) return null;
  const decision = decide(snapshot, principal, question, index.principals);
  if (decision.allowed)
    return followsFromOthers(snapshot, principal, question, index.principals)
      ? null
      : withdrawing(principal, question, asked, decision);

  const named = isActing ? resource.as : principal;
  const needed = snapshot.users.filter(({ id, isActive }) => !isActive && named?.type === 'user' && named.id === id);
  const activate = needed.map(({ id }): Change => ({ kind: 'activate', user: id }));
  const active = {
    ...snapshot,
    users: snapshot.users.map((user) => (needed.includes(user) ? { ...user, isActive: true } : user)),
  };
  const isKnown = principal.type !== 'engine' || index.principals.through({ type: 'everyone' }, principal) !== null;
  const known = new Principals({ ...index.snapshot, users: active.users }, isKnown ? [] : [principal.name]);
  const then = decide(active, principal, question, known);
  if (isActing && !isOpenToActing(known, principal, resource)) return null;
  const isCarried = isKnown && (then.grants.length > 0 || then.intent.standing !== null);
  if (!isCarried && holderProblem(privileges, principal) !== null) return null;
  const granting: Change[] = isCarried ? [] : [{ kind: 'grant', principal, resource, privileges }];
  // Policies that take ownership are only found for a principal with a grant of it.
  const isYielding = isAboutData(question) && yieldsToRestrictions(question);
  const owning = [...active.grants, { ...UNWRITTEN, principal, resource, privileges }];
  const granted = isYielding ? decide({ ...active, grants: owning }, principal, question, known) : then;
  const excepting = obstructingPolicies(granted, question, snapshot.settings).map(({ id }): Change => ({
    kind: 'except',
    policy: id,
    principal,
  }));
  return [...activate, ...granting, ...excepting];
}

const UNWRITTEN = { id: 0, expiresAt: null, revokedAt: null };

/** Whether other access lets a principal execute queries even without EXECUTE_QUERIES. */
function followsFromOthers(snapshot: Snapshot, principal: Principal, question: Question, of: Principals): boolean {
  if (question.about !== 'queries' || question.right !== 'execute') return false;
  const { resource, privilege } = EXECUTING;
  const deny = { id: 0, principal, except: [], kind: 'deny', resource, privileges: [privilege] } as const;
  return decide({ ...snapshot, policies: [...snapshot.policies, deny] }, principal, question, of).allowed;
}

/** Drops the column in `system`, where no column is restricted. */
function askedOfTable(question: Question): Question {
  const isInSystem = isAboutData(question) && question.resource.catalog === SYSTEM;
  return isInSystem ? { ...question, column: undefined } : question;
}

/** The node and the narrowest privilege by which the asked right is granted. */
interface GrantFor {
  resource: Node;
  privileges: Privilege[];
}

/** Null: the right is not granted. */
export function grantFor(about: Question, principals: Principals): GrantFor | null {
  const question = askedOfTable(about);
  if (question.about === 'impersonation')
    return { resource: { as: principalNamed(principals, question.newUser) }, privileges: ['IMPERSONATE'] };
  const granted = grantedOnEngine(question, principals);
  if (granted !== null) return { resource: granted.resource, privileges: [granted.privilege] };
  if (question.about === 'queries') return { resource: EXECUTING.resource, privileges: [EXECUTING.privilege] };
  if (!isAtNode(question)) return null;
  const { resource } = question;
  const isOpen = (privilege: Privilege): boolean =>
    resource.catalog !== SYSTEM || privilegesOn(resource).includes(privilege);
  return { resource, privileges: privilegesFor(question).filter(isOpen).slice(0, 1) };
}

/** The policies that need an exception. Of contradictory masks, those with the most frequent expression may stay. */
function obstructingPolicies(
  { intent, denies }: Decision,
  question: Question,
  settings: SnapshotSettings,
): SnapshotPolicy[] {
  if (!isAboutData(question)) return denies.map(({ source }) => source);
  const policies = obstacles(intent, question, settings);
  if (yieldsToRestrictions(question)) return policies;
  const masks = nearestMasks(policies, question.column ?? '');
  const count = (expression: string): number => masks.filter((mask) => mask.expression === expression).length;
  const [kept] = [...masks].sort((a, b) => count(b.expression) - count(a.expression));
  const yields = yieldsToRowsOrValues(question).masks;
  return policies.filter(
    (policy) =>
      policy.kind !== 'column_mask' ||
      policy.expression !== kept?.expression ||
      yields ||
      closesCompanion(question.resource, policy),
  );
}

function withdrawing(
  principal: Principal,
  question: Question,
  { resource, privileges }: GrantFor,
  { grants }: Decision,
): Change[] {
  if (isAboutData(question) && question.column !== undefined && readsColumns(question)) {
    return [{ kind: 'hidden_column', principal, resource: { ...resource, column: question.column } }];
  }
  // A revoke is not enough for a schema that other access opens again.
  const revoked = isOpenSystem(resource) ? null : onlyGrant(grants, privileges, resource);
  if (revoked !== null) return [{ kind: 'revoke', grant: revoked }];
  return [{ kind: 'deny', principal, resource, privileges }];
}

/** The only grant, if it names this principal and this node and gives nothing else; null: a revoke would take more, or too little. */
function onlyGrant(
  [grant, ...others]: readonly Origin<SnapshotGrant>[],
  privileges: readonly Privilege[],
  node: Node,
): number | null {
  if (grant === undefined || others.length > 0 || grant.through !== 'directly' || grant.inheritedFrom !== null)
    return null;
  const lost = withTaken(privileges);
  const open = privilegesOn(node);
  const given = [...withContained(grant.source.privileges)].filter((privilege) => open.includes(privilege));
  return given.every((privilege) => lost.has(privilege)) ? grant.source.id : null;
}

/** Whether a grant can let `principal` impersonate `as`, which must not be the principal itself or another impersonator. */
function isOpenToActing(principals: Principals, principal: Principal, { as }: Node): boolean {
  return as !== undefined && principalText(as) !== principalText(principal) && canBeActedAs(principals, as);
}
