import { getOrInsert, groupBy } from '../../kernel/collections.js';
import {
  mergeIntoComposites,
  holderProblem,
  isDataPrivilege,
  isRoutinePrivilege,
  type Privilege,
  PRIVILEGE_TERMS,
  privilegesTakenBy,
  privilegesGivenBy,
  splitComposites,
} from '../../trino-rules/model/privilege.js';
import {
  compareNodes,
  covers,
  depth,
  isInTree,
  type Node,
  nodeKey,
  pathTo,
  SYSTEM,
} from '../../trino-rules/model/node.js';
import { type PolicyPrincipal, type Principal, principalText } from '../../trino-rules/model/principal.js';
import { OPEN_SYSTEM_SCHEMAS } from '../../trino-rules/model/resource.js';
import type { SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import { GroupCover, ImportedPrincipals } from './group-cover.js';
import type { Joiner } from './joiners.js';
import type { UserAccess } from './node-access.js';

type Details<P> = P extends SnapshotPolicy ? Omit<P, 'id' | 'principal' | 'except'> : never;
type PolicyDetails = Details<SnapshotPolicy>;

interface ImportedGrant {
  resource: Node;
  privilege: Privilege;
}

/** One privilege on a node or one policy (`entry`), with the names of its users. These include hypothetical users (`Joiner`). */
interface Row<T> {
  entry: T;
  names: Set<string>;
}

type PolicyOfPrincipal = PolicyDetails & Pick<SnapshotPolicy, 'principal' | 'except'>;

/** A hypothetical user (`Joiner`) whom no policy can restrict at a node. */
export interface UnrestrictedJoiner {
  name: string;
  resource: Node;
}

/** Collects the access of listed and hypothetical users (`Joiner`), and turns it into grants and policies. */
export class ImportedRows {
  readonly principals: ImportedPrincipals;
  private readonly cover: GroupCover;
  private readonly grantRows = new Map<string, Row<ImportedGrant>>();
  private readonly policyRows = new Map<string, Row<PolicyDetails>>();
  private readonly unmergedGrants: Omit<SnapshotGrant, 'id'>[] = [];
  private readonly unmergedDenies: PolicyOfPrincipal[] = [];
  /** By name of a user: all users with the same access. */
  private readonly usersWithSameAccess = new Map<string, readonly string[]>();
  private readonly joinerNames: ReadonlySet<string>;
  private readonly userListPositions: ReadonlyMap<string, number>;

  constructor(listedUsers: readonly ListedUser[], joiners: readonly Joiner[]) {
    this.userListPositions = new Map(listedUsers.map(({ name }, i) => [name, i]));
    this.principals = new ImportedPrincipals(listedUsers);
    this.cover = new GroupCover(listedUsers, joiners);
    this.joinerNames = new Set(joiners.map(({ name }) => name));
  }

  /** Records `access` for each of these users: listed users, and hypothetical ones (`Joiner`) with which the import is also checked. */
  addAccess(names: readonly string[], access: Partial<UserAccess>): void {
    const users = names.filter((name) => !this.joinerNames.has(name));
    for (const name of users) this.usersWithSameAccess.set(name, users);
    for (const { resource, privileges } of access.grants ?? [])
      for (const privilege of splitComposites(privileges)) addToRow(this.grantRows, { resource, privilege }, names);
    const { denies = [], filters = [], hiddenColumns = [], masks = [] } = access;
    for (const row of denies) addToRow(this.policyRows, { kind: 'deny', ...row }, names);
    for (const row of filters) addToRow(this.policyRows, { kind: 'row_filter', ...row }, names);
    for (const row of hiddenColumns) addToRow(this.policyRows, { kind: 'hidden_column', ...row }, names);
    for (const row of masks) addToRow(this.policyRows, { kind: 'column_mask', ...row }, names);
  }

  /** Adds a grant for this principal alone. It is never merged into a grant to a group. */
  grant(principal: Principal, resource: Node, privileges: Privilege[]): void {
    this.unmergedGrants.push({ principal, resource, privileges, ...WITHOUT_EXPIRY });
  }

  deny(principal: Principal, resource: Node, privileges: Privilege[]): void {
    this.unmergedDenies.push({ kind: 'deny', principal, resource, privileges, except: [] });
  }

  toSnapshotRows(): { grants: SnapshotGrant[]; policies: SnapshotPolicy[]; unrestrictedJoiners: UnrestrictedJoiner[] } {
    // `toGrants` must run before `toPolicies`: it adds denies for members who get too much through a group, and `toPolicies` writes these denies.
    const heldRights = new HeldRights(this.grantRows.values());
    const unreachedPolicies = [...this.policyRows.values()].flatMap(({ entry, names }) => {
      const unreachedNames = this.coverOf({ entry, names }, heldRights).unreachedNames.filter((name) =>
        this.cover.unlistedJoiners.has(name),
      );
      return unreachedNames.length === 0 ? [] : [{ entry, names: new Set(unreachedNames) }];
    });
    const grants = this.toGrants(heldRights, unreachedPolicies);
    const { policies, unrestrictedJoiners } = this.toPolicies(heldRights);
    const isUnreached = ({ name, resource }: UnrestrictedJoiner): boolean =>
      unreachedPolicies.some(({ entry, names }) => entry.resource === resource && names.has(name));
    return { grants, policies, unrestrictedJoiners: unrestrictedJoiners.filter((each) => !isUnreached(each)) };
  }

  private toGrants(rights: HeldRights, unreachedPolicies: readonly Row<PolicyDetails>[]): SnapshotGrant[] {
    const holdersByRight = this.usersNeedingNoGrant();
    const rows = [...this.grantRows.values()].sort((a, b) => depth(a.entry.resource) - depth(b.entry.resource));
    const grantsByKey = new Map<string, Omit<SnapshotGrant, 'id'>>();
    const addGrant = (principal: PolicyPrincipal, { resource, privilege }: ImportedGrant): void => {
      const key = `${principalText(principal)} ${nodeKey(resource)}`;
      const privileges = [...(grantsByKey.get(key)?.privileges ?? []), privilege];
      grantsByKey.set(key, { principal, resource, privileges, ...WITHOUT_EXPIRY });
    };
    const uncoveredRows = rows.map(({ entry, names }) => {
      const { resource, privilege } = entry;
      if (!canGroupsHold(privilege))
        return { entry, names: new Set([...names].filter((name) => !this.joinerNames.has(name))) };
      const holdersOf = (node: Node, each: Privilege) =>
        getOrInsert(holdersByRight, keyOf(node, each), () => new Set<string>());
      const holdersByPrivilege = [...privilegesGivenBy([privilege])].map(
        (each) => [each, pathTo(resource).map((node) => holdersOf(node, each))] as const,
      );
      const missingPrivileges = (name: string): Privilege[] =>
        holdersByPrivilege.flatMap(([each, path]) => (path.some((holders) => holders.has(name)) ? [] : [each]));
      const denyRowsFor = (deniedNames: Iterable<string>): Row<PolicyDetails>[] | null => {
        const denyRows = new Map<string, Row<PolicyDetails>>();
        for (const name of deniedNames) {
          const privileges = missingPrivileges(name);
          const node =
            rights.nodeForDeny(name, resource, privileges) ?? (this.cover.unlistedJoiners.has(name) ? resource : null);
          if (node === null) return null;
          addToRow(denyRows, { kind: 'deny', resource: node, privileges }, [name]);
        }
        return [...denyRows.values()];
      };
      const barredJoiners = unreachedPolicies.flatMap((row) => (isConcerned(entry, row.entry) ? [...row.names] : []));
      const coverage = this.cover.coverGrant(
        names,
        new Set(barredJoiners),
        (name) => missingPrivileges(name).length === 0,
        (names) => denyRowsFor(names)?.every((row) => this.coverOf(row, rights).unreachedNames.length === 0) === true,
      );
      for (const grantee of coverage.grantees) addGrant(this.principals.toPrincipal(grantee), entry);
      for (const { entry: deny, names: deniedNames } of denyRowsFor(coverage.denied) ?? []) {
        addToRow(this.policyRows, deny, [...deniedNames]);
        if (deny.kind === 'deny')
          for (const each of privilegesTakenBy(deny.privileges))
            for (const name of deniedNames) holdersOf(deny.resource, each).add(name);
      }
      return { entry, names: new Set(coverage.uncoveredNames) };
    });
    for (const { entry, groups } of this.groupByAccess(uncoveredRows)) {
      const holders = canGroupsHold(entry.privilege) ? groups : groups.flat().map((name) => [name]);
      for (const names of holders) addGrant(this.principals.principalOf(names), entry);
    }
    const mergedGrants = [...grantsByKey.values()].map((grant) => ({
      ...grant,
      privileges: mergeIntoComposites(grant.privileges),
    }));
    mergedGrants.sort((a, b) => compareNodes(a.resource, b.resource));
    return numberRows([...mergedGrants, ...this.unmergedGrants]);
  }

  private toPolicies(rights: HeldRights): { policies: SnapshotPolicy[]; unrestrictedJoiners: UnrestrictedJoiner[] } {
    const unrestrictedJoiners: UnrestrictedJoiner[] = [];
    const policiesByKey = new Map<string, PolicyOfPrincipal>();
    const addPolicy = (policy: PolicyOfPrincipal): void => {
      const { privileges, ...commonFields } = { privileges: undefined, ...policy };
      const knownPolicy = getOrInsert(policiesByKey, JSON.stringify(commonFields), () => policy);
      if (knownPolicy.kind !== 'deny' || policy.kind !== 'deny') return;
      const privilegeParts = splitComposites([...knownPolicy.privileges, ...policy.privileges]);
      policiesByKey.set(JSON.stringify(commonFields), { ...policy, privileges: mergeIntoComposites(privilegeParts) });
    };
    const rows = [...this.policyRows.values()];
    const uncoveredRows = rows.map(({ entry, names }) => {
      const coverage = this.coverOf({ entry, names }, rights);
      for (const name of coverage.unreachedNames) unrestrictedJoiners.push({ name, resource: entry.resource });
      for (const { grantee, except } of coverage.policyUses) {
        const exceptions = except
          .map((each) => this.principals.toPrincipal(each))
          .filter((grantee) => grantee.type !== 'everyone');
        addPolicy({ ...entry, principal: this.principals.toPrincipal(grantee), except: exceptions });
      }
      return { entry, names: new Set(coverage.uncoveredNames) };
    });
    for (const { entry, groups } of this.groupByAccess(uncoveredRows))
      for (const names of groups) addPolicy({ ...entry, principal: this.principals.principalOf(names), except: [] });
    return { policies: numberRows([...policiesByKey.values(), ...this.unmergedDenies]), unrestrictedJoiners };
  }

  private coverOf({ entry, names }: Row<PolicyDetails>, rights: HeldRights): ReturnType<GroupCover['coverPolicy']> {
    const isExcepted = (name: string): boolean =>
      !this.cover.unlistedJoiners.has(name) && rights.isExcepted(name, entry, !this.joinerNames.has(name));
    // A policy in the catalog `system` may name everyone, because users without rights cannot read `system` in any case.
    const mayBeForEveryone = entry.resource.catalog === SYSTEM ? true : undefined;
    return this.cover.coverPolicy(names, isExcepted, (name) => rights.lacksDeniedRights(name, entry), mayBeForEveryone);
  }

  /** By node and privilege: the users for whom a row already gives or denies the privilege. */
  private usersNeedingNoGrant(): Map<string, Set<string>> {
    const usersByRight = new Map<string, Set<string>>();
    const addUsers = (node: Node, privileges: Iterable<Privilege>, names: ReadonlySet<string>): void => {
      for (const privilege of privileges) {
        const usersWithRight = getOrInsert(usersByRight, keyOf(node, privilege), () => new Set<string>());
        for (const name of names) usersWithRight.add(name);
      }
    };
    for (const { entry, names } of this.grantRows.values()) {
      addUsers(entry.resource, privilegesGivenBy([entry.privilege]), names);
      // A privilege that statements use also gives EXECUTE_QUERIES and SELECT on OPEN_SYSTEM_SCHEMAS.
      if (!PRIVILEGE_TERMS[entry.privilege].isUsedByStatements) continue;
      addUsers({ engine: true }, ['EXECUTE_QUERIES'], names);
      for (const schema of OPEN_SYSTEM_SCHEMAS) addUsers({ catalog: SYSTEM, schema }, ['SELECT'], names);
    }
    for (const { entry, names } of this.policyRows.values())
      if (entry.kind === 'deny') addUsers(entry.resource, privilegesTakenBy(entry.privileges), names);
    return usersByRight;
  }

  private groupByAccess<T extends { resource: Node }>(rows: readonly Row<T>[]): { entry: T; groups: string[][] }[] {
    const positionOf = (name: string): number => this.userListPositions.get(name) ?? 0;
    const sortNames = (names: Iterable<string>) => [...names].sort((a, b) => positionOf(a) - positionOf(b));
    const sortedRows = rows.map(({ entry, names }) => ({ entry, users: sortNames(names) }));
    const nodesByUsers = new Map<string, Set<string>>();
    for (const { entry, users } of sortedRows)
      getOrInsert(nodesByUsers, users.join('\0'), () => new Set<string>()).add(nodeKey(entry.resource));
    return sortedRows.map(({ entry, users }) => {
      const groupsByAccess = new Map<readonly string[] | undefined, string[]>();
      for (const name of users) getOrInsert(groupsByAccess, this.usersWithSameAccess.get(name), () => []).push(name);
      const isOneGroup = groupsByAccess.size >= MIN_SETS_TO_JOIN || (nodesByUsers.get(users.join('\0'))?.size ?? 0) > 1;
      return { entry, groups: isOneGroup && users.length > 0 ? [users] : [...groupsByAccess.values()] };
    });
  }
}

/** Each set of users with equal access gets a group. From this many sets on, all users get one group together. */
const MIN_SETS_TO_JOIN = 4;

function canGroupsHold(privilege: Privilege): boolean {
  return holderProblem([privilege], { type: 'everyone' }) === null;
}

const WITHOUT_EXPIRY = { expiresAt: null, revokedAt: null };

function addToRow<T extends object>(rows: Map<string, Row<T>>, entry: T, names: readonly string[]): void {
  const row = getOrInsert(rows, JSON.stringify(entry), () => ({ entry, names: new Set<string>() }));
  for (const name of names) row.names.add(name);
}

function keyOf(node: Node, privilege: Privilege): string {
  return `${nodeKey(node)} ${privilege}`;
}

function numberRows<T extends { principal: PolicyPrincipal }>(rows: readonly T[]): (T & { id: number })[] {
  return [...groupBy(rows, (row) => principalText(row.principal)).values()]
    .flat()
    .map((row, i) => ({ ...row, id: i + 1 }));
}

/** The rights of each listed or hypothetical user. A policy that is meant for other users must not take these rights away. */
class HeldRights {
  private readonly rightsByName = new Map<string, ImportedGrant[]>();

  constructor(rows: Iterable<Row<ImportedGrant>>) {
    for (const { entry, names } of rows)
      for (const name of names) getOrInsert(this.rightsByName, name, () => []).push(entry);
  }

  /** The node for a deny by which the user loses no right: `resource` or its catalog. Null: there is no such node. */
  nodeForDeny(name: string, resource: Node, privileges: Privilege[]): Node | null {
    const { catalog } = resource;
    const rights = this.rightsOf(name);
    // Any right also gives reading in `system`. A deny there takes this reading away, so only a user without rights may be denied.
    if (catalog === SYSTEM) return rights.length === 0 ? resource : null;
    if (catalog !== undefined && isInTree(resource) && rights.every((each) => !isInCatalog(each.resource, catalog)))
      return { catalog };
    return rights.some((each) => isTakenByDeny(each, { kind: 'deny', resource, privileges })) ? null : resource;
  }

  /** Whether a user must be excepted from a policy, because the policy would take away a right that the user has. */
  isExcepted(name: string, policy: PolicyDetails, isListed: boolean): boolean {
    const { resource } = policy;
    const { catalog } = resource;
    // Two masks of a column conflict, so a listed user is always excepted from masks for others.
    if (policy.kind === 'column_mask' && isListed) return true;
    const rights = this.rightsOf(name);
    if (catalog === SYSTEM) return rights.length > 0;
    if (policy.kind === 'deny') return rights.some((each) => isTakenByDeny(each, policy));
    return rights.some((each) => catalog === undefined || isInCatalog(each.resource, catalog));
  }

  /** Whether a policy is a deny outside of `system`, and the user has none of the rights that the deny names. */
  lacksDeniedRights(name: string, policy: PolicyDetails): boolean {
    if (policy.kind !== 'deny' || policy.resource.catalog === SYSTEM) return false;
    return !this.rightsOf(name).some((each) => isConcerned(each, policy));
  }

  private rightsOf(name: string): readonly ImportedGrant[] {
    return this.rightsByName.get(name) ?? [];
  }
}

function isInCatalog({ catalog, engine, queries, as }: Node, catalogName: string): boolean {
  if (engine !== undefined || queries !== undefined || as !== undefined) return false;
  return catalog === undefined || catalog === catalogName;
}

/** Whether the nodes of a right and a policy overlap. A deny must also take the privilege of the right. */
function isConcerned({ resource, privilege }: ImportedGrant, policy: PolicyDetails): boolean {
  if (!covers(resource, policy.resource) && !covers(policy.resource, resource)) return false;
  if (policy.kind !== 'deny') return true;
  const deniedPrivileges = privilegesTakenBy(policy.privileges);
  return [...privilegesGivenBy([privilege])].some((each) => deniedPrivileges.has(each));
}

/** Whether a deny takes a right away. The deny need not name the right: any deny of data takes away ownership and routines in the catalog. */
function isTakenByDeny(right: ImportedGrant, policy: Extract<PolicyDetails, { kind: 'deny' }>): boolean {
  if (isConcerned(right, policy)) return true;
  if (!policy.privileges.some(isDataPrivilege)) return false;
  const { catalog } = policy.resource;
  const isInScope =
    catalog === undefined
      ? isInTree(right.resource) || right.resource.routine !== undefined
      : isInCatalog(right.resource, catalog);
  return isInScope && (isRoutinePrivilege(right.privilege) || PRIVILEGE_TERMS[right.privilege].yieldsToRestrictions);
}
