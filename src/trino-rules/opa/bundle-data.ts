import {
  ROUTINE_RIGHTS,
  SYSTEM,
  RIGHTS_OF_PRIVILEGES,
  hasEffect,
  isInMetadataCatalog,
  isKillQuery,
  isReplacementSafe,
} from '../compile/engine-terms.js';
import { getOrInsert } from '../compile/get-or-insert.js';
import { OPERATIONS, RIGHT_LETTERS, type RightLetter } from '../document/opa-operations.js';
import type { Node } from '../model/node.js';
import type { PolicyPrincipal } from '../model/principal.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot, SnapshotGrant, SnapshotPolicy, SnapshotSettings } from '../model/snapshot.js';
import {
  belowIndex,
  timedRightsOf,
  type EndByRight,
  extendEnd,
  type NodeGrants,
  type Moment,
  type Path,
  type NodePolicy,
} from './below-index.js';
import { branchAt, flagTree, type Json, type JsonTree, compactRecord } from './tree.js';

/**
 * The data of a bundle, from which `policy/policy.rego` decides; its first comment describes the form. Pure and deterministic. Rights that
 * expire are written with the moment of their end, so that the data stays valid after the moment of the snapshot.
 */
export function bundleData(snapshot: Snapshot): JsonTree {
  const { settings } = snapshot;
  const principals = new PrincipalKeys(snapshot);
  const grants = liveGrants(snapshot, principals);
  const policies = policiesAt(snapshot, principals);
  const tree: JsonTree = new Map();
  for (const { key, path, ends } of grants.dataGrants)
    branchAt(tree, key, path[0], path[1]).set(path[2], timedRightsOf(ends));
  const { impersonation, readersMaintain, serviceAccounts, ownAccount, sessionProperties } = settings;
  return new Map<string, Json>([
    ['operations', operationTree()],
    ['own', ownAccount],
    ['services', flagTree(serviceAccounts)],
    ['served', serviceAccountTree(settings)],
    ['closed', flagTree(settings.metadataCatalog === null ? [] : [settings.metadataCatalog])],
    ['storage', storageTree(settings)],
    ['impersonation', impersonation],
    ['readersMaintain', readersMaintain],
    ['sessionProperties', flagTree(sessionProperties.filter((name) => !name.startsWith('grantline_rules_')))],
    ['users', userTree(snapshot, principals, grants)],
    ['grants', tree],
    ['below', belowIndex(grants.dataGrants, policies, settings)],
    ['policies', policyTree(policies, principals, settings)],
    ['over', rightTree(snapshot, principals, grants)],
  ]);
}

class PrincipalKeys {
  private readonly userNames: ReadonlyMap<number, string>;
  private readonly groupIds: ReadonlySet<number>;
  readonly serviceAccounts: ReadonlySet<string>;

  constructor({ users, groups, settings }: Snapshot) {
    this.userNames = new Map(users.map(({ id, name }) => [id, name]));
    this.groupIds = new Set(groups.map(({ id }) => id));
    this.serviceAccounts = new Set(settings.serviceAccounts);
  }

  /** The key of a principal; null: it does not exist, or is a service account, to which grants and policies do not apply. */
  keyOf(principal: PolicyPrincipal): string | null {
    switch (principal.type) {
      case 'everyone':
        return '*';
      case 'user': {
        const name = this.userNames.get(principal.id);
        return name === undefined ? null : `u${name}`;
      }
      case 'group':
        return this.groupIds.has(principal.id) ? `g${principal.id}` : null;
      case 'engine':
        return this.serviceAccounts.has(principal.name) ? null : `u${principal.name}`;
    }
  }

  exceptionFlags({ except }: SnapshotPolicy): JsonTree {
    return flagTree(except.flatMap((exception) => this.keyOf(exception) ?? []));
  }
}

interface LiveGrants {
  dataGrants: readonly NodeGrants[];
  /** Rights over the engine, or over a target (a principal to impersonate, or an owner of queries): by holder, then by target (`''`: the engine). */
  targetRights: ReadonlyMap<string, Map<string, EndByRight>>;
  /** Engine principals that are members of everyone, each with the moment at which the membership ends. */
  knownEngines: ReadonlyMap<string, Moment>;
  /** Engine principals that may impersonate others, each with the moment at which the right ends. */
  impersonators: ReadonlyMap<string, Moment>;
}

function liveGrants(snapshot: Snapshot, principals: PrincipalKeys): LiveGrants {
  const { settings, at, groups } = snapshot;
  const grantsByNode = new Map<string, NodeGrants>();
  const targetRights = new Map<string, Map<string, EndByRight>>();
  const newEndByRight = (): EndByRight => new Map();
  const newEndsByTarget = () => new Map<string, EndByRight>();
  const knownEngines = new Map<string, Moment>();
  const impersonators = new Map<string, Moment>();
  for (const name of groups.flatMap(({ engines }) => engines)) extendEnd(knownEngines, name, Infinity);
  for (const grant of snapshot.grants) {
    const key = principals.keyOf(grant.principal);
    const { resource } = grant;
    const targetKey = targetKeyOf(resource, principals);
    if (key === null || targetKey === null || !hasEffect(grant, at) || isInMetadataCatalog(resource, settings))
      continue;
    const grantEnd = grant.expiresAt?.getTime() ?? Infinity;
    if (grant.principal.type === 'engine') {
      extendEnd(knownEngines, grant.principal.name, grantEnd);
      if (resource.as !== undefined) extendEnd(impersonators, grant.principal.name, grantEnd);
    }
    const path = pathOf(resource);
    const endByRight =
      path === null
        ? getOrInsert(getOrInsert(targetRights, key, newEndsByTarget), targetKey, newEndByRight)
        : getOrInsert(grantsByNode, [key, ...path].join('\0'), () => ({ key, path, ends: newEndByRight() })).ends;
    for (const letter of givenLetters(grant)) extendEnd(endByRight, letter, grantEnd);
  }
  const dataGrants = [...grantsByNode.values()].filter(({ ends }) => ends.size > 0);
  return { dataGrants, targetRights, knownEngines, impersonators };
}

/** The key of the principal that a node names; `''`: the node names none; null: the principal does not exist. */
function targetKeyOf({ as, queries }: Node, principals: PrincipalKeys): string | null {
  const principal = as ?? queries;
  return principal === undefined ? '' : principals.keyOf(principal);
}

function pathOf({ catalog = '', schema = '', table, routine, engine, as, queries }: Node): Path | null {
  if (engine !== undefined || as !== undefined || queries !== undefined) return null;
  return [catalog, schema, table ?? (routine === undefined ? '' : `\t${routine}`)];
}

const LETTER_ENTRIES = Object.entries(RIGHT_LETTERS) as [RightLetter, Privilege][];
const LETTER_BY_PRIVILEGE = new Map(LETTER_ENTRIES.map(([letter, privilege]) => [privilege, letter]));
const LETTER_BY_RIGHT = {
  ...{ SELECT: 'S', INSERT: 'I', UPDATE: 'U', DELETE: 'D', GRANT_SELECT: 'G', owner: 'O', OWNERSHIP: 'T' },
  ...{ function: 'F', 'passing-function': 'H', procedure: 'P' },
} as const satisfies Record<string, RightLetter>;

const DATA_LETTERS: readonly RightLetter[] = ['S', 'I', 'U', 'D', 'G', 'O', 'T'];
const ROUTINE_LETTERS: readonly RightLetter[] = ROUTINE_RIGHTS.map((right) => LETTER_BY_RIGHT[right]);

function lettersOf(privileges: readonly Privilege[], effect: 'gives' | 'takes'): RightLetter[] {
  return privileges.flatMap((privilege) => {
    const engineRights = RIGHTS_OF_PRIVILEGES[privilege][effect];
    const ownLetter = LETTER_BY_PRIVILEGE.get(privilege);
    return engineRights.length > 0 ? engineRights.map((right) => LETTER_BY_RIGHT[right]) : (ownLetter ?? []);
  });
}

/** The rights (as letters) that a grant gives at its node. In `system` a grant can give only reading and the call of `kill_query`. */
function givenLetters({ privileges, resource }: SnapshotGrant): RightLetter[] {
  const { catalog, table, routine } = resource;
  const letters = lettersOf(privileges, 'gives');
  if (routine !== undefined)
    return letters.filter((letter) =>
      catalog === SYSTEM ? letter === 'P' && isKillQuery(resource) : ROUTINE_LETTERS.includes(letter),
    );
  if (catalog === SYSTEM) return letters.filter((letter) => letter === 'S');
  return table === undefined ? letters : letters.filter((letter) => DATA_LETTERS.includes(letter) && letter !== 'O');
}

function policiesAt({ policies, settings }: Snapshot, principals: PrincipalKeys): NodePolicy[] {
  return policies.flatMap((policy) => {
    const { resource } = policy;
    const key = principals.keyOf(policy.principal);
    const path = pathOf(resource);
    if (key === null || path === null || isInMetadataCatalog(resource, settings)) return [];
    const isOnData = resource.routine === undefined && resource.catalog !== SYSTEM;
    const takesData = policy.kind !== 'deny' || takenLetters(policy.privileges, DATA_LETTERS).length > 0;
    return [{ key, path, policy, restrictsData: isOnData && takesData }];
  });
}

function takenLetters(privileges: readonly Privilege[], possibleLetters: readonly RightLetter[]): RightLetter[] {
  const letters = lettersOf(privileges, 'takes');
  return possibleLetters.filter((letter) => letters.includes(letter));
}

/** Whether a policy restricts reading. Such a policy also denies companions (`table$suffix`) and files with the same data. */
function restrictsReading({ policy, restrictsData }: NodePolicy): boolean {
  return restrictsData && (policy.kind !== 'deny' || policy.privileges.includes('SELECT'));
}

const LETTER_BY_KIND = { row_filter: 'f', column_mask: 'm', hidden_column: 'h', deny: 'd' } as const;

function policyTree(policies: readonly NodePolicy[], principals: PrincipalKeys, settings: SnapshotSettings): JsonTree {
  const tree: JsonTree = new Map();
  for (const entry of policies) {
    const { key, path, policy, restrictsData } = entry;
    // A restriction of data takes away ownership (O, T), and a filter also UPDATE and DELETE. policy.rego itself denies writing on masked tables.
    const lostLetters = [
      ...(policy.kind === 'deny' ? takenLetters(policy.privileges, [...DATA_LETTERS, ...ROUTINE_LETTERS]) : []),
      ...(policy.kind === 'row_filter' ? (['U', 'D'] as const) : []),
      ...(restrictsData ? (['O', 'T'] as const) : []),
    ];
    appendRecord(branchAt(tree, ...path), key, {
      k: LETTER_BY_KIND[policy.kind],
      e: 'expression' in policy ? policy.expression : undefined,
      c: 'column' in policy.resource ? policy.resource.column : undefined,
      l: [...new Set(lostLetters)].join(''),
      r: restrictsReading(entry),
      x: principals.exceptionFlags(policy),
    });
  }
  addSideEffects(tree, policies, principals, new Set(settings.externalTableCatalogs));
  return tree;
}

function appendRecord(parent: JsonTree, key: string, fields: Readonly<Record<string, Json | undefined>>): void {
  const previousRecords = parent.get(key);
  parent.set(key, [...(Array.isArray(previousRecords) ? (previousRecords as Json[]) : []), compactRecord(fields)]);
}

/** Records in `tree` what restrictions take away on other nodes: rights over the catalog's routines, and ownership of schemas and tables. */
function addSideEffects(
  tree: JsonTree,
  policies: readonly NodePolicy[],
  principals: PrincipalKeys,
  sharedFileCatalogs: ReadonlySet<string>,
): void {
  const addedKeys = new Set<string>();
  for (const entry of policies) {
    if (!entry.restrictsData) continue;
    const [catalog, schema, table] = entry.path;
    const x = principals.exceptionFlags(entry.policy);
    const limitsReads = restrictsReading(entry);
    const catalogFields = { l: limitsReads && sharedFileCatalogs.has(catalog) ? 'OTFHP' : 'FHP', r: limitsReads, x };
    const lostRightEntries = [
      [catalog, '', catalogFields] as const,
      ...(table === '' ? [] : [[catalog, schema, { l: 'O', x }] as const]),
    ];
    for (const [catalogKey, schemaKey, fields] of lostRightEntries) {
      const effectKey = JSON.stringify([catalogKey, schemaKey, entry.key, fields.l, limitsReads, [...x.keys()].sort()]);
      if (addedKeys.has(effectKey)) continue;
      addedKeys.add(effectKey);
      appendRecord(branchAt(tree, catalogKey, schemaKey, LOSSES_KEY), entry.key, fields);
    }
  }
}

/** Stands in place of a table name, for rights that a policy takes away on a whole schema or catalog. */
const LOSSES_KEY = '\n';

function userTree(
  { users, groups, settings }: Snapshot,
  principals: PrincipalKeys,
  grantsInForce: LiveGrants,
): JsonTree {
  const tree: JsonTree = new Map();
  const groupKeysByUser = new Map<number, string[]>();
  const groupKeysByEngine = new Map<string, string[]>();
  for (const { id, members, engines } of groups) {
    for (const member of new Set(members)) getOrInsert(groupKeysByUser, member, () => []).push(`g${id}`);
    for (const engine of new Set(engines)) getOrInsert(groupKeysByEngine, engine, () => []).push(`g${id}`);
  }
  const isUnsafe = (name: string) => settings.rulesFile !== false && !isReplacementSafe(name);
  for (const { id, name, isActive } of users) {
    const keys = [`u${name}`, ...(groupKeysByUser.get(id) ?? []), '*'];
    tree.set(name, compactRecord(isActive ? { k: keys, z: isUnsafe(name) } : { o: keys }));
  }
  for (const [name, knownUntil] of grantsInForce.knownEngines) {
    if (principals.serviceAccounts.has(name)) continue;
    const isPermanent = knownUntil === Infinity;
    const keys = [`u${name}`, ...(groupKeysByEngine.get(name) ?? []), ...(isPermanent ? ['*'] : [])];
    const impersonatesUntil = grantsInForce.impersonators.get(name);
    const i = impersonatesUntil === Infinity ? LAST_MOMENT : impersonatesUntil;
    tree.set(name, compactRecord({ k: keys, e: true, u: isPermanent ? undefined : knownUntil, i, z: isUnsafe(name) }));
  }
  for (const name of principals.serviceAccounts) tree.set(name, compactRecord({ o: [] }));
  return tree;
}

/** The last moment that a `Date` can hold. */
const LAST_MOMENT = 8.64e15;

function rightTree(
  snapshot: Snapshot,
  principals: PrincipalKeys,
  { targetRights, knownEngines }: LiveGrants,
): JsonTree {
  const grants: JsonTree = new Map();
  const membersByTarget: JsonTree = new Map();
  for (const [key, rightsByTarget] of targetRights)
    for (const [targetKey, ends] of rightsByTarget) {
      branchAt(grants, key).set(targetKey, timedRightsOf(ends));
      if (targetKey !== '' && ends.has('K') && !membersByTarget.has(targetKey))
        membersByTarget.set(targetKey, ownersOf(targetKey, snapshot, knownEngines.keys()));
    }
  const denies: JsonTree = new Map();
  for (const policy of snapshot.policies) {
    const key = principals.keyOf(policy.principal);
    const targetKey = targetKeyOf(policy.resource, principals);
    if (policy.kind !== 'deny' || pathOf(policy.resource) !== null || key === null || targetKey === null) continue;
    appendRecord(branchAt(denies, key), targetKey, {
      l: [...new Set(lettersOf(policy.privileges, 'takes'))].join(''),
      x: principals.exceptionFlags(policy),
    });
  }
  return new Map([
    ['grants', grants],
    ['denies', denies],
    ['members', membersByTarget],
  ]);
}

/** The names that can own the target's queries: the user, the members of the group, or everyone. Includes deactivated accounts. */
function ownersOf(targetKey: string, { users, groups }: Snapshot, knownEngines: Iterable<string>): string[] {
  if (targetKey.startsWith('u')) return [targetKey.slice(1)];
  const group = groups.find(({ id }) => targetKey === `g${id}`);
  const userNames = users.filter(({ id }) => group === undefined || group.members.includes(id)).map(({ name }) => name);
  return [...new Set([...userNames, ...(group?.engines ?? knownEngines)])].sort();
}

function operationTree(): JsonTree {
  return new Map(
    Object.entries(OPERATIONS).map(([name, { asks, needs, listing, target }]) => [
      name,
      compactRecord({ asks, needs, listing, target }),
    ]),
  );
}

function serviceAccountTree({ writableCatalogs, readableCatalogs, metadataCatalog }: SnapshotSettings): JsonTree {
  const isOpen = (catalog: string) => catalog !== metadataCatalog && catalog !== SYSTEM;
  const readableRights = readableCatalogs.filter(isOpen).map((catalog) => [catalog, 'S'] as const);
  const writableRights = writableCatalogs.filter(isOpen).map((catalog) => [catalog, DATA_LETTERS.join('')] as const);
  return new Map([...readableRights, ...writableRights]);
}

/** Columns that are hidden if another column of the table is masked or hidden: they show where a row is stored, or its raw content (`RAW_COLUMNS`). */
function storageTree({ rawColumnCatalogs }: SnapshotSettings): JsonTree {
  const columns = ['$bucket', '$partition', '$path'];
  const allColumns = [...columns, ...RAW_COLUMNS];
  return new Map<string, Json>([['', columns], ...rawColumnCatalogs.map((catalog) => [catalog, allColumns] as const)]);
}

export const RAW_COLUMNS: readonly string[] = ['_headers', '_key', '_message', '_source', '_value'];
