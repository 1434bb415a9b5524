import { MARKER } from '../document/rules-document.js';
import { OPEN_SYSTEM_SCHEMAS } from './resource.js';
import { wideningNodes, type Intent, intentAt, NO_ENTRIES, reachesSomething } from './intent.js';
import type { Principal } from './principal.js';
import { isServiceAccount, Principals } from './principals.js';
import { isKillQuery, KILL_QUERY, type Node, SYSTEM } from './node.js';
import { type Privilege, PRIVILEGE_TERMS, withTaken, withContained } from './privilege.js';
import { canBeImpersonated, holdsActing, principalNamed } from './named-others.js';
import type { Question, RightQuestion } from './question.js';
import type { Snapshot } from './snapshot.js';

/** Whether one principal has a right that is not about data, and the sources of the right. */
export interface RightIntent extends Intent {
  isHeld: boolean;
}

/** The intent for a right that is not granted: it follows from the settings, or from other access. */
export function rightIntent(
  snapshot: Snapshot,
  principal: Principal,
  question: RightQuestion,
  principals: Principals,
): RightIntent {
  switch (question.about) {
    case 'catalog-mode':
      return held(catalogMode(snapshot, principal, question.resource.catalog) === question.mode, null);
    case 'queries': {
      const granted = grantedIntent(snapshot, principal, EXECUTING, principals);
      const comesWithAccess = !granted.isHeld && reachesSomething(snapshot, principal, principals);
      return comesWithAccess ? held(true, 'reaches-something') : granted;
    }
    case 'impersonation':
      return becomes(snapshot, principal, question.newUser)
        ? held(true, 'service-account')
        : actsAs(snapshot, principal, question.newUser, principals);
    case 'system-information':
      return NOT_HELD;
    case 'session-property':
      return question.catalog === null
        ? systemProperty(snapshot, principal, question.property)
        : held(isServiceAccount(snapshot, principal) && isServed(snapshot, question.catalog), 'service-account');
  }
}

/** The intent for a right over the engine, over queries or to impersonate. Its policies are only the denies that take the right. */
export function grantedIntent(
  snapshot: Snapshot,
  principal: Principal,
  { resource, privilege }: GrantedRight,
  principals: Principals,
): RightIntent {
  const { privileges, grants, policies } = intentAt(snapshot, principal, resource, principals);
  return {
    isHeld: privileges.includes(privilege),
    grants: grants.filter(({ source }) => withContained(source.privileges).has(privilege)),
    policies: policies.filter(({ source }) => source.kind === 'deny' && withTaken(source.privileges).has(privilege)),
    elsewhere: [],
    standing: null,
  };
}

/** The mode in which a principal enters a catalog: that of the widest privilege anywhere in it. */
export function catalogMode(snapshot: Snapshot, principal: Principal, catalog: string): 'all' | 'read-only' | 'none' {
  const named = wideningNodes(snapshot).filter((node) => node.catalog === catalog);
  const system: Node[] = [...OPEN_SYSTEM_SCHEMAS.map((schema) => ({ catalog, schema })), KILL_QUERY];
  const nodes = [{ catalog }, ...named, ...(catalog === SYSTEM ? system : [])];
  const principals = new Principals(snapshot);
  const modes = nodes
    .flatMap((node) => intentAt(snapshot, principal, node, principals).privileges)
    .map((privilege) => PRIVILEGE_TERMS[privilege].mode);
  return modes.includes('all') ? 'all' : modes.includes('read-only') ? 'read-only' : 'none';
}

/** Impersonation needs a grant to the principal itself. The policies include denies even without such a grant. */
function actsAs(snapshot: Snapshot, principal: Principal, newUser: string, principals: Principals): RightIntent {
  const right = { resource: { as: principalNamed(principals, newUser) }, privilege: 'IMPERSONATE' } as const;
  const intent = grantedIntent(snapshot, principal, right, principals);
  return holdsActing(principals, principal) ? intent : { ...intent, isHeld: false, grants: [] };
}

/** Grantline's own account may impersonate active users with any access. */
function becomes(snapshot: Snapshot, principal: Principal, newUser: string): boolean {
  const { impersonation, ownAccount } = snapshot.settings;
  const isOwn = principal.type === 'engine' && principal.name === ownAccount;
  return (
    impersonation &&
    isOwn &&
    canBeImpersonated(newUser) &&
    snapshot.users.some(({ id, name }) => name === newUser && reachesSomething(snapshot, { type: 'user', id }))
  );
}

/** Service accounts may set every property; all other principals with access may set those that the settings list. */
function systemProperty(snapshot: Snapshot, principal: Principal, property: string): RightIntent {
  // Marks the version in force, and gives no access.
  if (property.startsWith(MARKER)) return NOT_HELD;
  if (isServiceAccount(snapshot, principal)) return held(true, 'service-account');
  const isListed = snapshot.settings.sessionProperties.includes(property);
  return held(isListed && reachesSomething(snapshot, principal), 'reaches-something');
}

/** Whether the settings give service accounts something in a catalog. */
function isServed({ settings }: Snapshot, catalog: string): boolean {
  const { writableCatalogs, readableCatalogs, metadataCatalog } = settings;
  return [...writableCatalogs, ...readableCatalogs].includes(catalog) && ![metadataCatalog, SYSTEM].includes(catalog);
}

function held(isHeld: boolean, standing: Intent['standing']): RightIntent {
  return isHeld ? { ...NO_ENTRIES, isHeld, standing } : NOT_HELD;
}

const NOT_HELD: RightIntent = { ...NO_ENTRIES, isHeld: false, standing: null };

/** The node on which a right is granted (outside of the tree), and the privilege that gives the right. */
interface GrantedRight {
  resource: Node;
  privilege: Privilege;
}

/** The right to execute queries, which access to anything gives as well. */
export const EXECUTING = { resource: { engine: true }, privilege: 'EXECUTE_QUERIES' } as const satisfies GrantedRight;

/** Where a right over the engine is granted; null: the right follows from the settings, or from access to something. */
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
