import { isKillQuery, type Node } from './node.js';
import { principalNamed } from './named-others.js';
import type { Principals } from './principals.js';
import type { Privilege } from './privilege.js';
import type { Question } from './question.js';

/** The node beside the tree at which a right is granted, and the privilege that gives it. */
export interface GrantedRight {
  resource: Node;
  privilege: Privilege;
}

/** Executing queries: who reaches something has it besides. */
export const EXECUTING = { resource: { engine: true }, privilege: 'EXECUTE_QUERIES' } as const satisfies GrantedRight;

/** Where the engine's own rights are granted; null: it follows from the settings, or from access to something. */
export function grantedOnEngine(question: Question, principals: Principals): GrantedRight | null {
  const engine = { engine: true } as const;
  if (question.about === 'queries' && question.right !== 'execute') {
    const { right, owner } = question;
    const resource = owner === undefined ? engine : { queries: principalNamed(principals, owner) };
    return { resource, privilege: right === 'view' ? 'VIEW_QUERIES' : 'KILL_QUERIES' };
  }
  if (question.about === 'system-information')
    return {
      resource: engine,
      privilege: question.right === 'read' ? 'READ_SYSTEM_INFORMATION' : 'WRITE_SYSTEM_INFORMATION',
    };
  return null;
}

/** `CALL system.runtime.kill_query` */
export function isKilling(question: Question): boolean {
  if (question.about !== 'routine' || question.kind !== 'procedure' || question.privilege !== 'EXECUTE') return false;
  return isKillQuery(question.resource);
}
