import { isInTree, principalIn, type Node } from '../model/node.js';
import type { PolicyPrincipal } from '../model/principal.js';
import { type Privilege, privilegesOn, privilegesGivenBy } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import { fieldAt, fields } from './bundle-index.js';
import { PrincipalIndex } from './principal-index.js';

/** The letters of privileges in a bundle. OWNERSHIP has no letter, because it consists of SCHEMA_OWNERSHIP and TABLE_OWNERSHIP. */
const LETTER_OF_PRIVILEGE: Readonly<Partial<Record<Privilege, string>>> = {
  ...{ SELECT: 'S', INSERT: 'I', UPDATE: 'U', DELETE: 'D', GRANT_SELECT: 'G' },
  ...{ SCHEMA_OWNERSHIP: 'O', TABLE_OWNERSHIP: 'T' },
  ...{ EXECUTE_FUNCTION: 'F', GRANT_EXECUTE_FUNCTION: 'H', CALL_PROCEDURE: 'P' },
  ...{ EXECUTE_QUERIES: 'X', VIEW_QUERIES: 'V', KILL_QUERIES: 'K', IMPERSONATE: 'A' },
  ...{ READ_SYSTEM_INFORMATION: 'R', WRITE_SYSTEM_INFORMATION: 'W' },
};

export function endTimesInBundle(data: unknown): Map<string, number> {
  const endsByKey = new Map<string, number>();
  const addMoments = (path: readonly string[], rights: unknown): void => {
    if (!Array.isArray(rights)) return;
    for (const [letter, end] of fields(rights[1])) endsByKey.set(JSON.stringify([...path, letter]), Number(end));
  };
  for (const [key, catalogs] of fields(fieldAt(data, 'grants')))
    for (const [catalog, schemas] of fields(catalogs))
      for (const [schema, cells] of fields(schemas))
        for (const [name, rights] of fields(cells)) addMoments([key, catalog, schema, name], rights);
  for (const [key, cells] of fields(fieldAt(data, 'over', 'grants')))
    for (const [about, rights] of fields(cells)) addMoments([key, about], rights);
  for (const [name, user] of fields(fieldAt(data, 'users')))
    for (const fieldName of ['u', 'i']) {
      const expiry = fieldAt(user, fieldName);
      if (typeof expiry === 'number' && expiry < LAST_MOMENT) endsByKey.set(JSON.stringify([fieldName, name]), expiry);
    }
  return endsByKey;
}

/** The last moment that a `Date` can hold. It represents a right without an end. */
const LAST_MOMENT = 8.64e15;

/** The moment at which each right of a principal at a node expires: the last end of the grants that give the right. */
export function expectedEndTimes(snapshot: Snapshot): Map<string, number> {
  const { users, groups, grants, settings, at } = snapshot;
  if (grants.every(({ expiresAt }) => expiresAt === null)) return new Map();
  const principals = new PrincipalIndex(snapshot);
  const nameById = new Map(users.map(({ id, name }) => [id, name]));
  const expiryByRight = new Map<string, number>();
  const extendExpiry = (path: readonly string[], end: number): void => {
    const key = JSON.stringify(path);
    expiryByRight.set(key, Math.max(end, expiryByRight.get(key) ?? 0));
  };
  const keyOf = (principal: PolicyPrincipal): string => {
    if (principal.type === 'everyone') return '*';
    if (principal.type === 'group') return `g${principal.id}`;
    return `u${principal.type === 'user' ? (nameById.get(principal.id) ?? '') : principal.name}`;
  };
  for (const name of groups.flatMap(({ engines }) => engines)) extendExpiry(['u', name], Infinity);
  for (const { principal, resource, privileges, expiresAt, ...grant } of grants) {
    const isClosed = resource.catalog !== undefined && resource.catalog === settings.metadataCatalog;
    const isIneffective = !isLive({ principal, resource, privileges, expiresAt, ...grant }, at) || isClosed;
    if (isIneffective || !principals.exists(principal) || !principals.exists(principalIn(resource))) continue;
    const end = expiresAt?.getTime() ?? Infinity;
    if (principal.type === 'engine') extendExpiry(['u', principal.name], end);
    if (principal.type === 'engine' && resource.as !== undefined) extendExpiry(['i', principal.name], end);
    const possiblePrivileges = privilegesOn(resource);
    for (const privilege of privilegesGivenBy(privileges)) {
      const letter = LETTER_OF_PRIVILEGE[privilege];
      if (letter !== undefined && possiblePrivileges.includes(privilege))
        extendExpiry([keyOf(principal), ...pathOf(resource, keyOf), letter], end);
    }
  }
  return new Map([...expiryByRight].filter(([, end]) => end < Infinity));
}

function pathOf(node: Node, keyOf: (principal: PolicyPrincipal) => string): string[] {
  const principal = principalIn(node);
  if (principal !== undefined) return [keyOf(principal)];
  if (node.engine === true) return [''];
  const { catalog = '', schema = '', table = '', routine } = node;
  return [catalog, schema, isInTree(node) ? table : `\t${routine ?? ''}`];
}
