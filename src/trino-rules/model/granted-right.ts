import { isKillQuery, type Node } from './node.js';
import type { Privilege } from './privilege.js';
import type { Question } from './question.js';

/** The node beside the tree at which a right is granted, and the privilege that gives it. */
export interface GrantedRight {
  resource: Node;
  privilege: Privilege;
}

/** Where the engine's own rights are granted; null: it follows from the settings, or from access to something. */
export function grantedOnEngine(question: Question): GrantedRight | null {
  const on = (privilege: Privilege): GrantedRight => ({ resource: { engine: true }, privilege });
  if (question.about === 'queries' && question.right !== 'execute')
    return on(question.right === 'view' ? 'VIEW_QUERIES' : 'KILL_QUERIES');
  if (question.about === 'system-information')
    return on(question.right === 'read' ? 'READ_SYSTEM_INFORMATION' : 'WRITE_SYSTEM_INFORMATION');
  return null;
}

/** `CALL system.runtime.kill_query` */
export function isKilling(question: Question): boolean {
  if (question.about !== 'routine' || question.kind !== 'procedure' || question.privilege !== 'EXECUTE') return false;
  return isKillQuery(question.resource);
}
