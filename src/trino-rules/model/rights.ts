import { MARKER_PREFIX } from '../document/rules-document.js';
import { OPEN_SYSTEM_SCHEMAS } from './resource.js';
import { wideningNodes, type Intent, intentAt, NO_ENTRIES, hasAnyAccess } from './intent.js';
import type { Principal } from './principal.js';
import { isServiceAccount, Principals } from './principals.js';
import { isKillQuery, KILL_QUERY, type Node, SYSTEM } from './node.js';
import { type Privilege, PRIVILEGE_TERMS, privilegesTakenBy, privilegesGivenBy } from './privilege.js';
import { isImpersonableName, hasImpersonateGrant, principalNamed } from './named-others.js';
import type { Question, RightQuestion } from './question.js';
import type { Snapshot } from './snapshot.js';

/** Whether a principal has a right that is not about data, and the grants, policies or settings that decide it. */
export interface RightIntent extends Intent {
  isHeld: boolean;
}

/** Whether a principal has a right that is not about data. Most such rights follow from the settings or from other access. */
export function rightIntent(
  snapshot: Snapshot,
  principal: Principal,
  question: RightQuestion,
  principals: Principals,
): RightIntent {
  switch (question.about) {
    case 'catalog-mode':
      return ungrantedIntent(catalogMode(snapshot, principal, question.resource.catalog) === question.mode, null);
    case 'queries': {
      const executionIntent = grantableRightIntent(snapshot, principal, EXECUTE_RIGHT, principals);
      const comesWithAccess = !executionIntent.isHeld && hasAnyAccess(snapshot, principal, principals);
      return comesWithAccess ? ungrantedIntent(true, 'reaches-something') : executionIntent;
    }
    case 'impersonation':
      return ownAccountImpersonates(snapshot, principal, question.newUser)
        ? ungrantedIntent(true, 'service-account')
        : intentToImpersonate(snapshot, principal, question.newUser, principals);
    case 'system-information':
      return NO_RIGHT;
    case 'session-property':
      if (question.catalog === null) return systemPropertyIntent(snapshot, principal, question.property);
      return isServiceAccount(snapshot, principal) && isOpenToServiceAccounts(snapshot, question.catalog)
        ? ungrantedIntent(true, 'service-account')
        : NO_RIGHT;
  }
}

export function grantableRightIntent(
  snapshot: Snapshot,
  principal: Principal,
  { resource, privilege }: GrantableRight,
  principals: Principals,
): RightIntent {
  const { privileges, grants, policies } = intentAt(snapshot, principal, resource, principals);
  return {
    isHeld: privileges.includes(privilege),
    grants: grants.filter(({ source }) => privilegesGivenBy(source.privileges).has(privilege)),
    policies: policies.filter(
      ({ source }) => source.kind === 'deny' && privilegesTakenBy(source.privileges).has(privilege),
    ),
    policiesElsewhere: [],
    ungrantedSource: null,
  };
}

/** The access to a catalog (`allow` of a catalog rule) that the privileges of a principal in the catalog need. */
export function catalogMode(snapshot: Snapshot, principal: Principal, catalog: string): 'all' | 'read-only' | 'none' {
  const nodesInCatalog = wideningNodes(snapshot).filter((node) => node.catalog === catalog);
  const openSystemNodes: Node[] = [...OPEN_SYSTEM_SCHEMAS.map((schema) => ({ catalog, schema })), KILL_QUERY];
  const checkedNodes = [{ catalog }, ...nodesInCatalog, ...(catalog === SYSTEM ? openSystemNodes : [])];
  const principals = new Principals(snapshot);
  const neededModes = checkedNodes
    .flatMap((node) => intentAt(snapshot, principal, node, principals).privileges)
    .map((privilege) => PRIVILEGE_TERMS[privilege].catalogMode);
  return neededModes.includes('all') ? 'all' : neededModes.includes('read-only') ? 'read-only' : 'none';
}

/** Only a grant to the principal itself, not to its group, gives the right to impersonate. Denies are listed even without such a grant. */
function intentToImpersonate(
  snapshot: Snapshot,
  principal: Principal,
  newUser: string,
  principals: Principals,
): RightIntent {
  const right = { resource: { as: principalNamed(principals, newUser) }, privilege: 'IMPERSONATE' } as const;
  const intent = grantableRightIntent(snapshot, principal, right, principals);
  return hasImpersonateGrant(principals, principal) ? intent : { ...intent, isHeld: false, grants: [] };
}

/** Whether a principal is Grantline's own account and may impersonate a user. It may impersonate active users with any access. */
function ownAccountImpersonates(snapshot: Snapshot, principal: Principal, newUser: string): boolean {
  const { impersonation, ownAccount } = snapshot.settings;
  const isOwnAccount = principal.type === 'engine' && principal.name === ownAccount;
  return (
    impersonation &&
    isOwnAccount &&
    isImpersonableName(newUser, snapshot.settings) &&
    snapshot.users.some(({ id, name }) => name === newUser && hasAnyAccess(snapshot, { type: 'user', id }))
  );
}

/** The intent for a system session property. Service accounts may set all properties. Others with access may set those in the settings. */
function systemPropertyIntent(snapshot: Snapshot, principal: Principal, property: string): RightIntent {
  // A property with this prefix marks the version of the rules that is in force. No user may set such a property.
  if (property.startsWith(MARKER_PREFIX)) return NO_RIGHT;
  if (isServiceAccount(snapshot, principal)) return ungrantedIntent(true, 'service-account');
  const isListed = snapshot.settings.sessionProperties.includes(property);
  return ungrantedIntent(isListed && hasAnyAccess(snapshot, principal), 'reaches-something');
}

/** Whether the settings give service accounts access to a catalog. */
function isOpenToServiceAccounts({ settings }: Snapshot, catalog: string): boolean {
  const { writableCatalogs, readableCatalogs, metadataCatalog } = settings;
  return [...writableCatalogs, ...readableCatalogs].includes(catalog) && ![metadataCatalog, SYSTEM].includes(catalog);
}

function ungrantedIntent(isHeld: boolean, ungrantedSource: Intent['ungrantedSource']): RightIntent {
  return isHeld ? { ...NO_ENTRIES, isHeld, ungrantedSource } : NO_RIGHT;
}

const NO_RIGHT: RightIntent = { ...NO_ENTRIES, isHeld: false, ungrantedSource: null };

/** The node (outside of the catalogs) on which a right is granted, and the privilege that gives the right. */
interface GrantableRight {
  resource: Node;
  privilege: Privilege;
}

/** The right to execute queries, which any access also gives. */
export const EXECUTE_RIGHT = {
  resource: { engine: true },
  privilege: 'EXECUTE_QUERIES',
} as const satisfies GrantableRight;

export function grantableRightOf(question: Question, principals: Principals): GrantableRight | null {
  const engineNode = { engine: true } as const;
  if (question.about === 'queries' && question.right !== 'execute') {
    const { right, owner } = question;
    const resource = owner === undefined ? engineNode : { queries: principalNamed(principals, owner) };
    return { resource, privilege: right === 'view' ? 'VIEW_QUERIES' : 'KILL_QUERIES' };
  }
  if (question.about === 'system-information')
    return {
      resource: engineNode,
      privilege: question.right === 'read' ? 'READ_SYSTEM_INFORMATION' : 'WRITE_SYSTEM_INFORMATION',
    };
  return null;
}

export function callsKillQuery(question: Question): boolean {
  if (question.about !== 'routine' || question.kind !== 'procedure' || question.privilege !== 'EXECUTE') return false;
  return isKillQuery(question.resource);
}
