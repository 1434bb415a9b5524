import {
  accessToColumn,
  intentAt,
  restrictionsInCatalog,
  allowsTableProcedures,
  type Intent,
  type Origin,
} from './intent.js';
import type { Principal } from './principal.js';
import { Principals } from './principals.js';
import { PRIVILEGE_TERMS, PRIVILEGES, privilegesTakenBy, privilegesGivenBy, type Privilege } from './privilege.js';
import { columnOf, isAboutData, isNodeQuestion, type NodeQuestion, type Question } from './question.js';
import { grantableRightIntent, grantableRightOf, callsKillQuery, type RightIntent, rightIntent } from './rights.js';
import { closesCompanion } from './restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from './snapshot.js';

export interface Decision {
  allowed: boolean;
  /** The live grants that give the right in question, even if a deny takes it away. */
  grants: Origin<SnapshotGrant>[];
  /** The policies that take the right away: see `takingPolicies`. */
  denies: Origin<SnapshotPolicy>[];
  intent: Intent;
}

/**
 * Whether `principal` has the right in question. This function is the specification that the rules are proved against. A group is judged
 * like a user who is a member of this group alone.
 */
export function decide(
  snapshot: Snapshot,
  principal: Principal,
  question: Question,
  principals = new Principals(snapshot),
): Decision {
  const grantableRight = grantableRightOf(question, principals);
  if (grantableRight !== null) return decisionOf(grantableRightIntent(snapshot, principal, grantableRight, principals));
  if (!isNodeQuestion(question)) return decisionOf(rightIntent(snapshot, principal, question, principals));
  const intent = intentAt(snapshot, principal, question.resource, principals);
  const heldPrivileges = accessToColumn(intent, columnOf(question)).privileges;
  const passesProcedureCheck =
    question.about !== 'table-procedures' || allowsTableProcedures(intent, question.resource, snapshot.settings);
  return {
    allowed: passesProcedureCheck && privilegesGiving(question).some((privilege) => heldPrivileges.includes(privilege)),
    grants: intent.grants.filter(
      ({ source }) =>
        grantGivesRight(source.privileges, question) ||
        (callsKillQuery(question) && source.privileges.includes('KILL_QUERIES')),
    ),
    denies: takingPolicies(snapshot, principal, question, intent, principals),
    intent,
  };
}

/** The policies that take away the right in question. A policy on a table can also deny the table's companions (`table$suffix`). */
function takingPolicies(
  snapshot: Snapshot,
  principal: Principal,
  question: NodeQuestion,
  { policies, policiesElsewhere }: Intent,
  principals: Principals,
): Origin<SnapshotPolicy>[] {
  const { resource } = question;
  const companionPolicies = policiesElsewhere.flatMap((source): Origin<SnapshotPolicy>[] => {
    const appliesThrough = closesCompanion(resource, source) && principals.policyAppliesThrough(source, principal);
    return appliesThrough ? [{ source, through: appliesThrough, inheritedFrom: source.resource }] : [];
  });
  const takesRight = ({ source }: Origin<SnapshotPolicy>): boolean =>
    (source.kind === 'deny' && denyTakesRight(source.privileges, question)) || closesCompanion(resource, source);
  const denies = [...policies.filter(takesRight), ...companionPolicies];
  if (isAboutData(question)) return denies;
  const catalogRestrictions = restrictionsInCatalog(snapshot, principal, question.resource, principals);
  return [...denies, ...catalogRestrictions.filter(({ source }) => denies.every((deny) => deny.source !== source))];
}

function decisionOf(intent: RightIntent): Decision {
  return { allowed: intent.isHeld, grants: intent.grants, denies: intent.policies, intent };
}

/** All privileges that give the right in question. Each of them is enough. */
export function privilegesGiving(question: NodeQuestion): Privilege[] {
  return PRIVILEGES.filter((privilege) => {
    const { tablePrivilege, ownsSchemas, routineRight } = PRIVILEGE_TERMS[privilege];
    switch (question.about) {
      case 'privilege':
        return tablePrivilege === question.privilege;
      case 'table-procedures':
        return tablePrivilege === 'SELECT';
      case 'schema-ownership':
        return ownsSchemas;
      case 'routine':
        // No privilege gives OWNERSHIP of a function, so for that question the result is false for all privileges.
        return routineRight?.kind === question.kind && routineRight.privilege === question.privilege;
    }
  });
}

/** Whether a grant of these privileges gives the right in question, apart from denies. */
export function grantGivesRight(privileges: readonly Privilege[], question: NodeQuestion): boolean {
  const givenPrivileges = privilegesGivenBy(privileges);
  return privilegesGiving(question).some((privilege) => givenPrivileges.has(privilege));
}

/** Whether a deny of these privileges takes the right in question away. */
export function denyTakesRight(privileges: readonly Privilege[], question: NodeQuestion): boolean {
  const deniedPrivileges = privilegesTakenBy(privileges);
  const askedPrivileges = privilegesGiving(question);
  return askedPrivileges.length > 0 && askedPrivileges.every((privilege) => deniedPrivileges.has(privilege));
}

/** Whether every restriction of data, such as a filter, takes away the right asked about. */
export function yieldsToRestrictions(question: NodeQuestion): boolean {
  return privilegesGiving(question).every((privilege) => PRIVILEGE_TERMS[privilege].yieldsToRestrictions);
}

export function yieldsToFiltersOrMasks(question: NodeQuestion): { filters: boolean; masks: boolean } {
  if (question.about === 'table-procedures') return { filters: true, masks: true };
  const terms = privilegesGiving(question).map((privilege) => PRIVILEGE_TERMS[privilege]);
  return {
    filters: terms.some(({ yieldsToFilters }) => yieldsToFilters),
    masks: terms.some(({ yieldsToMasks }) => yieldsToMasks),
  };
}

/** Whether the engine checks the right in question for each column. */
export function readsColumns(question: NodeQuestion): boolean {
  return privilegesGiving(question).some((privilege) => PRIVILEGE_TERMS[privilege].readsColumns);
}
