import { MARKER } from '../document/rules-document.js';
import { OPEN_SYSTEM_SCHEMAS } from './resource.js';
import { intentAt, NO_ENTRIES, reachesSomething, type Intent } from './intent.js';
import type { Principal } from './principal.js';
import { isServiceAccount, Principals } from './principals.js';
import { KILL_QUERY, type Node, SYSTEM } from './node.js';
import { PRIVILEGE_TERMS, taken, withContained } from './privilege.js';
import { canBeImpersonated, holdsActing } from './acting.js';
import { principalNamed } from './named-others.js';
import { EXECUTING, type GrantedRight } from './granted-right.js';
import type { RightQuestion } from './question.js';
import type { Snapshot } from './snapshot.js';

/** What one principal may besides data, and where it comes from. */
export interface RightIntent extends Intent {
  isHeld: boolean;
}

/** Everything that holds for `principal` about a right that is not granted: it follows from the settings, or from other access. */
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

/** The same of a right that is granted beside the tree; of the policies, only the denies that take it. */
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
    policies: policies.filter(({ source }) => source.kind === 'deny' && taken(source.privileges).has(privilege)),
    elsewhere: [],
    standing: null,
  };
}

/** The widest thing that a principal may do anywhere in a catalog decides in which mode it is entered. */
export function catalogMode(snapshot: Snapshot, principal: Principal, catalog: string): 'all' | 'read-only' | 'none' {
  const named = snapshot.grants.map(({ resource }) => resource).filter((resource) => resource.catalog === catalog);
  const system: Node[] = [...OPEN_SYSTEM_SCHEMAS.map((schema) => ({ catalog, schema })), KILL_QUERY];
  const nodes = [{ catalog }, ...named, ...(catalog === SYSTEM ? system : [])];
  const principals = new Principals(snapshot);
  const modes = nodes
    .flatMap((node) => intentAt(snapshot, principal, node, principals).privileges)
    .map((privilege) => PRIVILEGE_TERMS[privilege].mode);
  return modes.includes('all') ? 'all' : modes.includes('read-only') ? 'read-only' : 'none';
}

/** By grants to itself: a deny is named also where there are none. */
function actsAs(snapshot: Snapshot, principal: Principal, newUser: string, principals: Principals): RightIntent {
  const right = { resource: { as: principalNamed(principals, newUser) }, privilege: 'IMPERSONATE' } as const;
  const intent = grantedIntent(snapshot, principal, right, principals);
  return holdsActing(principals, principal) ? intent : { ...intent, isHeld: false, grants: [] };
}

/** Grantline's own account becomes active people who reach something. */
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

/** Service accounts set everything, everybody else who reaches something what the settings list. */
function systemProperty(snapshot: Snapshot, principal: Principal, property: string): RightIntent {
  // It tells the version in force, and is no access.
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
