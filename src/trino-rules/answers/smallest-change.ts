import {
  decide,
  type Decision,
  privilegesGiving,
  readsColumns,
  yieldsToRestrictions,
  yieldsToFiltersOrMasks,
} from '../model/decision.js';
import { canBeImpersonated, principalNamed } from '../model/named-others.js';
import { type Origin } from '../model/intent.js';
import { type Principal, principalText } from '../model/principal.js';
import { isServiceAccount, Principals } from '../model/principals.js';
import {
  holderProblem,
  type Privilege,
  privilegesOn,
  privilegesTakenBy,
  privilegesGivenBy,
} from '../model/privilege.js';
import { EXECUTE_RIGHT, grantableRightOf } from '../model/rights.js';
import { isAboutData, isNodeQuestion, type Question } from '../model/question.js';
import { type Node, SYSTEM } from '../model/node.js';
import { closedProblem, isOpenSystemNode, type ColumnResource } from '../model/resource.js';
import { closesCompanion } from '../model/restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import { AccessIndex } from './access-index.js';
import { isAboutStorageColumn, nearestMasks, obstacles } from './explanation.js';

export type Change =
  | { kind: 'grant'; principal: Principal; resource: Node; privileges: Privilege[] }
  | { kind: 'revoke'; grant: number }
  | { kind: 'except'; policy: number; principal: Principal }
  | { kind: 'deny'; principal: Principal; resource: Node; privileges: Privilege[] }
  | { kind: 'hidden_column'; principal: Principal; resource: ColumnResource }
  | { kind: 'activate'; user: number };

/**
 * The fewest changes that reverse the answer to a question for this principal alone. Null: there is none, for example because the right
 * follows from settings.
 */
export function smallestChange(index: AccessIndex, principal: Principal, originalQuestion: Question): Change[] | null {
  const isImpersonation = originalQuestion.about === 'impersonation';
  const snapshot = isImpersonation ? index.snapshot : index.snapshotFor(principal);
  const question = withoutSystemColumn(originalQuestion);
  const requiredGrant = neededGrant(originalQuestion, index.principals);
  if (isServiceAccount(snapshot, principal) || requiredGrant === null) return null;
  const { resource, privileges } = requiredGrant;
  if (closedProblem(resource, snapshot.settings.metadataCatalog) !== null) return null;
  if (resource.queries !== undefined && isServiceAccount(snapshot, resource.queries)) return null;
  if (privileges.length === 0) return null;
  const decision = decide(snapshot, principal, question, index.principals);
  if (decision.allowed)
    return followsFromOtherAccess(snapshot, principal, question, index.principals)
      ? null
      : changesToTakeAway(principal, question, requiredGrant, decision);

  const activatedPrincipal = isImpersonation ? resource.as : principal;
  const usersToActivate = snapshot.users.filter(
    ({ id, isActive }) => !isActive && activatedPrincipal?.type === 'user' && activatedPrincipal.id === id,
  );
  const activationChanges = usersToActivate.map(({ id }): Change => ({ kind: 'activate', user: id }));
  const activeSnapshot = {
    ...snapshot,
    users: snapshot.users.map((user) => (usersToActivate.includes(user) ? { ...user, isActive: true } : user)),
  };
  const isKnownPrincipal =
    principal.type !== 'engine' || index.principals.appliesThrough({ type: 'everyone' }, principal) !== null;
  const activePrincipals = new Principals(
    { ...index.snapshot, users: activeSnapshot.users },
    isKnownPrincipal ? [] : [principal.name],
  );
  const activeDecision = decide(activeSnapshot, principal, question, activePrincipals);
  const { as } = resource;
  // The target of a grant of IMPERSONATE must be neither the principal itself nor an impersonator.
  if (as && (principalText(as) === principalText(principal) || !canBeImpersonated(activePrincipals, as))) return null;
  const isGranted = activeDecision.grants.length > 0 || activeDecision.intent.ungrantedSource !== null;
  const needsNoGrant = isKnownPrincipal && isGranted;
  if (!needsNoGrant && holderProblem(privileges, principal) !== null) return null;
  const grantChanges: Change[] = needsNoGrant ? [] : [{ kind: 'grant', principal, resource, privileges }];
  // Without a grant of ownership, `decide` lists no policies that take ownership away. So questions about ownership are decided with the new grant.
  const isTakenByRestrictions = isAboutData(question) && yieldsToRestrictions(question);
  const grantsWithNewGrant = [...activeSnapshot.grants, { ...NEW_GRANT_FIELDS, principal, resource, privileges }];
  const decisionWithGrant = isTakenByRestrictions
    ? decide({ ...activeSnapshot, grants: grantsWithNewGrant }, principal, question, activePrincipals)
    : activeDecision;
  const grants = needsNoGrant ? activeSnapshot.grants : grantsWithNewGrant;
  const isAllowedExcepting = (exceptedPolicyIds: ReadonlySet<number>): boolean => {
    const policies = activeSnapshot.policies.map((policy) =>
      exceptedPolicyIds.has(policy.id) ? { ...policy, except: [...policy.except, principal] } : policy,
    );
    return decide({ ...activeSnapshot, grants, policies }, principal, question, activePrincipals).allowed;
  };
  const policiesToExcept = obstructingPolicies(decisionWithGrant, question, snapshot.settings);
  const exceptedPolicyIds = new Set(policiesToExcept.map(({ id }) => id));
  // An exception from one policy can make the exception from another policy unnecessary.
  for (const id of [...exceptedPolicyIds]) {
    exceptedPolicyIds.delete(id);
    if (!isAllowedExcepting(exceptedPolicyIds)) exceptedPolicyIds.add(id);
  }
  return [
    ...activationChanges,
    ...grantChanges,
    ...[...exceptedPolicyIds].map((policy): Change => ({ kind: 'except', policy, principal })),
  ];
}

const NEW_GRANT_FIELDS = { id: 0, expiresAt: null, revokedAt: null };

/** Whether other access lets a principal execute queries, so that denying EXECUTE_QUERIES would not help. */
function followsFromOtherAccess(
  snapshot: Snapshot,
  principal: Principal,
  question: Question,
  principals: Principals,
): boolean {
  if (question.about !== 'queries' || question.right !== 'execute') return false;
  const { resource, privilege } = EXECUTE_RIGHT;
  const deny = { id: 0, principal, except: [], kind: 'deny', resource, privileges: [privilege] } as const;
  return decide({ ...snapshot, policies: [...snapshot.policies, deny] }, principal, question, principals).allowed;
}

/** The question without a column if it is about `system`, where columns are never restricted. */
function withoutSystemColumn(question: Question): Question {
  const isInSystem = isAboutData(question) && question.resource.catalog === SYSTEM;
  return isInSystem ? { ...question, column: undefined } : question;
}

/** The node and the narrowest privilege of a grant that gives the right in question. */
interface NeededGrant {
  resource: Node;
  privileges: Privilege[];
}

/** The grant that would give the right in question; null: no grant can give it. */
export function neededGrant(originalQuestion: Question, principals: Principals): NeededGrant | null {
  const question = withoutSystemColumn(originalQuestion);
  if (question.about === 'impersonation')
    return { resource: { as: principalNamed(principals, question.newUser) }, privileges: ['IMPERSONATE'] };
  const grantableRight = grantableRightOf(question, principals);
  if (grantableRight !== null) return { resource: grantableRight.resource, privileges: [grantableRight.privilege] };
  if (question.about === 'queries') return { resource: EXECUTE_RIGHT.resource, privileges: [EXECUTE_RIGHT.privilege] };
  if (!isNodeQuestion(question)) return null;
  const { resource } = question;
  const isGrantable = (privilege: Privilege): boolean =>
    resource.catalog !== SYSTEM || privilegesOn(resource).includes(privilege);
  return { resource, privileges: privilegesGiving(question).filter(isGrantable).slice(0, 1) };
}

/** The policies from which a principal must be excepted to get a right. Different masks hide their column, so at most the most frequent mask may stay. */
function obstructingPolicies(
  { intent, denies }: Decision,
  question: Question,
  settings: SnapshotSettings,
): SnapshotPolicy[] {
  if (!isAboutData(question)) return denies.map(({ source }) => source);
  const policies = obstacles(intent, question, settings);
  if (yieldsToRestrictions(question)) return policies;
  const masks = isAboutStorageColumn(question, settings) ? [] : nearestMasks(policies, question.column ?? '');
  const countMasksWith = (expression: string): number => masks.filter((mask) => mask.expression === expression).length;
  const [keptMask] = [...masks].sort((a, b) => countMasksWith(b.expression) - countMasksWith(a.expression));
  const masksTakeRight = yieldsToFiltersOrMasks(question).masks;
  return policies.filter(
    (policy) =>
      policy.kind !== 'column_mask' ||
      policy.expression !== keptMask?.expression ||
      masksTakeRight ||
      closesCompanion(question.resource, policy),
  );
}

function changesToTakeAway(
  principal: Principal,
  question: Question,
  { resource, privileges }: NeededGrant,
  { grants }: Decision,
): Change[] {
  if (isAboutData(question) && question.column !== undefined && readsColumns(question)) {
    return [{ kind: 'hidden_column', principal, resource: { ...resource, column: question.column } }];
  }
  // All users with any access can read `system.jdbc` and `system.metadata` without a grant, so only a deny can prevent the reading.
  const revokedGrantId = isOpenSystemNode(resource) ? null : revocableGrant(grants, privileges, resource);
  if (revokedGrantId !== null) return [{ kind: 'revoke', grant: revokedGrantId }];
  return [{ kind: 'deny', principal, resource, privileges }];
}

/** The id of the grant to revoke. It is the right's only grant, names this principal and this node, and gives nothing else. Null: there is no such grant. */
function revocableGrant(
  [grant, ...otherGrants]: readonly Origin<SnapshotGrant>[],
  privileges: readonly Privilege[],
  node: Node,
): number | null {
  if (grant === undefined || otherGrants.length > 0 || grant.through !== 'directly' || grant.inheritedFrom !== null)
    return null;
  const takenPrivileges = privilegesTakenBy(privileges);
  const possiblePrivileges = privilegesOn(node);
  const givenPrivileges = [...privilegesGivenBy(grant.source.privileges)].filter((each) =>
    possiblePrivileges.includes(each),
  );
  return givenPrivileges.every((privilege) => takenPrivileges.has(privilege)) ? grant.source.id : null;
}
