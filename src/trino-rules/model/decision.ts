import {
  accessToColumn,
  intentAt,
  restrictionsAround,
  runsTableProcedures,
  type Intent,
  type Origin,
} from './intent.js';
import type { Principal } from './principal.js';
import { Principals } from './principals.js';
import { PRIVILEGE_TERMS, PRIVILEGES, withTaken, withContained, type Privilege } from './privilege.js';
import { columnOf, isAboutData, isAtNode, type NodeQuestion, type Question } from './question.js';
import { grantedIntent, grantedOnEngine, isKilling, type RightIntent, rightIntent } from './rights.js';
import { closesCompanion } from './restrictions.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from './snapshot.js';

export interface Decision {
  allowed: boolean;
  /** The live grants that give the asked right, also where a deny takes it. */
  grants: Origin<SnapshotGrant>[];
  /** The policies that take the asked right: see `taking`. */
  denies: Origin<SnapshotPolicy>[];
  intent: Intent;
}

/**
 * Whether `principal` is to be allowed what is asked. This function is the specification that the rules are proved
 * against. A group is judged like a member that is in no other group.
 */
export function decide(
  snapshot: Snapshot,
  principal: Principal,
  question: Question,
  principals = new Principals(snapshot),
): Decision {
  const granted = grantedOnEngine(question, principals);
  if (granted !== null) return decisionOf(grantedIntent(snapshot, principal, granted, principals));
  if (!isAtNode(question)) return decisionOf(rightIntent(snapshot, principal, question, principals));
  const intent = intentAt(snapshot, principal, question.resource, principals);
  const held = accessToColumn(intent, columnOf(question)).privileges;
  const isOpen =
    question.about !== 'table-procedures' || runsTableProcedures(intent, question.resource, snapshot.settings);
  return {
    allowed: isOpen && privilegesFor(question).some((privilege) => held.includes(privilege)),
    grants: intent.grants.filter(
      ({ source }) =>
        gives(source.privileges, question) || (isKilling(question) && source.privileges.includes('KILL_QUERIES')),
    ),
    denies: taking(snapshot, principal, question, intent, principals),
    intent,
  };
}

/** Policies that take the asked right. Routines yield to any restriction of data in their catalog, companions to those of their base. */
function taking(
  snapshot: Snapshot,
  principal: Principal,
  question: NodeQuestion,
  { policies, elsewhere }: Intent,
  principals: Principals,
): Origin<SnapshotPolicy>[] {
  const { resource } = question;
  const closing = elsewhere.flatMap((source): Origin<SnapshotPolicy>[] => {
    const through = closesCompanion(resource, source) && principals.throughPolicy(source, principal);
    return through ? [{ source, through, inheritedFrom: source.resource }] : [];
  });
  const isTaking = ({ source }: Origin<SnapshotPolicy>): boolean =>
    (source.kind === 'deny' && takes(source.privileges, question)) || closesCompanion(resource, source);
  const denies = [...policies.filter(isTaking), ...closing];
  if (isAboutData(question)) return denies;
  const around = restrictionsAround(snapshot, principal, question.resource, principals);
  return [...denies, ...around.filter(({ source }) => denies.every((deny) => deny.source !== source))];
}

function decisionOf(intent: RightIntent): Decision {
  return { allowed: intent.isHeld, grants: intent.grants, denies: intent.policies, intent };
}

/** The privileges that each alone give the asked right. */
export function privilegesFor(question: NodeQuestion): Privilege[] {
  return PRIVILEGES.filter((privilege) => {
    const { onTables, ownsSchemas, runs } = PRIVILEGE_TERMS[privilege];
    switch (question.about) {
      case 'privilege':
        return onTables === question.privilege;
      case 'table-procedures':
        return onTables === 'SELECT';
      case 'schema-ownership':
        return ownsSchemas;
      case 'routine':
        // No privilege gives the ownership of a function.
        return runs?.kind === question.kind && runs.privilege === question.privilege;
    }
  });
}

/** Whether a grant of these privileges gives the asked right, before any deny. */
export function gives(privileges: readonly Privilege[], question: NodeQuestion): boolean {
  const given = withContained(privileges);
  return privilegesFor(question).some((privilege) => given.has(privilege));
}

/** Whether a deny of these privileges takes the asked right. */
export function takes(privileges: readonly Privilege[], question: NodeQuestion): boolean {
  const denied = withTaken(privileges);
  const asked = privilegesFor(question);
  return asked.length > 0 && asked.every((privilege) => denied.has(privilege));
}

/** Whether every restriction of data takes the asked right. */
export function yieldsToRestrictions(question: NodeQuestion): boolean {
  return privilegesFor(question).every((privilege) => PRIVILEGE_TERMS[privilege].yieldsToRestrictions);
}

/** Whether a row filter takes the asked right, and whether a mask does. */
export function yieldsToRowsOrValues(question: NodeQuestion): { filters: boolean; masks: boolean } {
  if (question.about === 'table-procedures') return { filters: true, masks: true };
  const terms = privilegesFor(question).map((privilege) => PRIVILEGE_TERMS[privilege]);
  return {
    filters: terms.some(({ yieldsToFilters }) => yieldsToFilters),
    masks: terms.some(({ yieldsToMasks }) => yieldsToMasks),
  };
}

/** Whether the engine checks columns for the asked right. */
export function readsColumns(question: NodeQuestion): boolean {
  return privilegesFor(question).some((privilege) => PRIVILEGE_TERMS[privilege].readsColumns);
}
