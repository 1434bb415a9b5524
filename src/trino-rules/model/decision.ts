import { accessToColumn, intentAt, type Intent, type Origin } from './intent.js';
import type { Principal } from './principal.js';
import { Principals } from './principals.js';
import { PRIVILEGE_TERMS, PRIVILEGES, taken, withContained, type Privilege } from './privilege.js';
import { isAboutData, type DataQuestion, type Question } from './question.js';
import { rightIntent } from './rights.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy } from './snapshot.js';

export interface Decision {
  allowed: boolean;
  /** The live grants that give it, also where a deny takes it. */
  grants: Origin<SnapshotGrant>[];
  /** The denies that take it. */
  denies: Origin<SnapshotPolicy>[];
  intent: Intent;
}

/**
 * Whether `principal` is to be allowed what is asked. This function is the specification that the rules are proved against
 * (access model, section 1). A group is judged as a member would be who is in no other group.
 */
export function decide(
  snapshot: Snapshot,
  principal: Principal,
  question: Question,
  principals = new Principals(snapshot),
): Decision {
  if (!isAboutData(question)) {
    const intent = rightIntent(snapshot, principal, question);
    return { allowed: intent.isHeld, grants: intent.grants, denies: [], intent };
  }
  const intent = intentAt(snapshot, principal, question.resource, principals);
  const held = accessToColumn(intent, question.column).privileges;
  return {
    allowed: privilegesFor(question).some((privilege) => held.includes(privilege)),
    grants: intent.grants.filter(({ source }) => gives(source.privileges, question)),
    denies: intent.policies.filter(({ source }) => source.kind === 'deny' && takes(source.privileges, question)),
    intent,
  };
}

/** The privileges each of which is what is asked about. */
export function privilegesFor(question: DataQuestion): Privilege[] {
  return PRIVILEGES.filter((privilege) => {
    const { onTables, ownsSchemas } = PRIVILEGE_TERMS[privilege];
    return question.about === 'privilege' ? onTables === question.privilege : ownsSchemas;
  });
}

/** Whether a grant of these gives what is asked about, before any deny. */
export function gives(privileges: readonly Privilege[], question: DataQuestion): boolean {
  const given = withContained(privileges);
  return privilegesFor(question).some((privilege) => given.has(privilege));
}

/** Whether a deny of these takes what is asked about. */
export function takes(privileges: readonly Privilege[], question: DataQuestion): boolean {
  const denied = taken(privileges);
  return privilegesFor(question).every((privilege) => denied.has(privilege));
}

/** Whether the engine checks columns for it. */
export function readsColumns(question: DataQuestion): boolean {
  return privilegesFor(question).some((privilege) => PRIVILEGE_TERMS[privilege].readsColumns);
}
