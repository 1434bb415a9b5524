import { getOrInsert } from '../../kernel/collections.js';
import {
  withSums,
  holderProblem,
  isOverData,
  isOverRoutines,
  type Privilege,
  PRIVILEGE_TERMS,
  withTaken,
  withContained,
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
import type { UserAccess } from './node-outcome.js';

type Details<P> = P extends SnapshotPolicy ? Omit<P, 'id' | 'principal' | 'except'> : never;
type PolicyDetails = Details<SnapshotPolicy>;

interface Given {
  resource: Node;
  privilege: Privilege;
}

/** One privilege on a node, or one policy, with the names of all listed and hypothetical users (`Joiner`) who have it. */
interface Row<T> {
  what: T;
  names: Set<string>;
}

type PolicyOfOne = PolicyDetails & Pick<SnapshotPolicy, 'principal' | 'except'>;

/** A hypothetical user to whom no policy can apply a restriction, so that nothing may be granted there. */
export interface Unrestricted {
  name: string;
  resource: Node;
}

/**
 * The grants and policies of an import: access of everybody or of a group is granted to everyone or to that group, with denies for
 * people who have less; access of single users is granted to them, or to new groups of them.
 */
export class ImportedRows {
  readonly principals: ImportedPrincipals;
  private readonly cover: GroupCover;
  private readonly given = new Map<string, Row<Given>>();
  private readonly restricting = new Map<string, Row<PolicyDetails>>();
  private readonly alone: Omit<SnapshotGrant, 'id'>[] = [];
  private readonly denied: PolicyOfOne[] = [];
  /** For each user, all users with the same access. */
  private readonly alike = new Map<string, readonly string[]>();
  private readonly isJoiner: ReadonlySet<string>;
  private readonly places: ReadonlyMap<string, number>;

  constructor(listed: readonly ListedUser[], joiners: readonly Joiner[]) {
    this.places = new Map(listed.map(({ name }, i) => [name, i]));
    this.principals = new ImportedPrincipals(listed);
    this.cover = new GroupCover(listed, joiners);
    this.isJoiner = new Set(joiners.map(({ name }) => name));
  }

  /** Gives these users and joiners the same access. */
  give(names: readonly string[], access: Partial<UserAccess>): void {
    const users = names.filter((name) => !this.isJoiner.has(name));
    for (const name of users) this.alike.set(name, users);
    for (const { resource, privileges } of access.grants ?? [])
      for (const privilege of privileges.flatMap(partsOf)) note(this.given, { resource, privilege }, names);
    const { denies = [], filters = [], hidden = [], masks = [] } = access;
    for (const row of denies) note(this.restricting, { kind: 'deny', ...row }, names);
    for (const row of filters) note(this.restricting, { kind: 'row_filter', ...row }, names);
    for (const row of hidden) note(this.restricting, { kind: 'hidden_column', ...row }, names);
    for (const row of masks) note(this.restricting, { kind: 'column_mask', ...row }, names);
  }

  /** Adds a grant to exactly this principal, which is not combined with others. */
  grant(principal: Principal, resource: Node, privileges: Privilege[]): void {
    this.alone.push({ principal, resource, privileges, ...LASTING });
  }

  deny(principal: Principal, resource: Node, privileges: Privilege[]): void {
    this.denied.push({ kind: 'deny', principal, resource, privileges, except: [] });
  }

  written(): { grants: SnapshotGrant[]; policies: SnapshotPolicy[]; unrestricted: Unrestricted[] } {
    // `grants` comes first: where a group gets more than some of its members have, it adds denies, which `policies` then writes.
    const held = new HeldRights(this.given.values());
    const open = [...this.restricting.values()].flatMap(({ what, names }) => {
      const pairs = this.coverOf({ what, names }, held).missed.filter((name) => this.cover.isPair.has(name));
      return pairs.length === 0 ? [] : [{ what, names: new Set(pairs) }];
    });
    const grants = this.grants(held, open);
    const { policies, unrestricted } = this.policies(held);
    const isOpen = ({ name, resource }: Unrestricted): boolean =>
      open.some(({ what, names }) => what.resource === resource && names.has(name));
    return { grants, policies, unrestricted: unrestricted.filter((each) => !isOpen(each)) };
  }

  /** @param open policies that cannot be applied to some pairs: the groups of such a pair get nothing that the policy takes */
  private grants(held: HeldRights, open: readonly Row<PolicyDetails>[]): SnapshotGrant[] {
    const isHeld = this.reachedUsers();
    const rows = [...this.given.values()].sort((a, b) => depth(a.what.resource) - depth(b.what.resource));
    const merged = new Map<string, Omit<SnapshotGrant, 'id'>>();
    const add = (principal: PolicyPrincipal, { resource, privilege }: Given): void => {
      const key = `${principalText(principal)} ${nodeKey(resource)}`;
      const privileges = [...(merged.get(key)?.privileges ?? []), privilege];
      merged.set(key, { principal, resource, privileges, ...LASTING });
    };
    const left = rows.map(({ what, names }) => {
      const { resource, privilege } = what;
      if (!isHeldByAll(privilege))
        return { what, names: new Set([...names].filter((name) => !this.isJoiner.has(name))) };
      const holdersOf = (node: Node, each: Privilege) =>
        getOrInsert(isHeld, keyOf(node, each), () => new Set<string>());
      const paths = [...withContained([privilege])].map(
        (each) => [each, pathTo(resource).map((node) => holdersOf(node, each))] as const,
      );
      const lacking = (name: string): Privilege[] =>
        paths.flatMap(([each, path]) => (path.some((holders) => holders.has(name)) ? [] : [each]));
      const denies = (denied: Iterable<string>): Row<PolicyDetails>[] | null => {
        const those = new Map<string, Row<PolicyDetails>>();
        for (const name of denied) {
          const privileges = lacking(name);
          const node = held.denyNode(name, resource, privileges) ?? (this.cover.isPair.has(name) ? resource : null);
          if (node === null) return null;
          note(those, { kind: 'deny', resource: node, privileges }, [name]);
        }
        return [...those.values()];
      };
      const barred = open.flatMap((row) => (isTaken(what, row.what) ? [...row.names] : []));
      const found = this.cover.coverGrant(
        names,
        new Set(barred),
        (name) => lacking(name).length === 0,
        (denied) => denies(denied)?.every((row) => this.coverOf(row, held).missed.length === 0) === true,
      );
      for (const holder of found.holders) add(this.principals.toPrincipal(holder), what);
      for (const { what: deny, names: denied } of denies(found.denied) ?? []) {
        note(this.restricting, deny, [...denied]);
        if (deny.kind === 'deny')
          for (const each of withTaken(deny.privileges))
            for (const name of denied) holdersOf(deny.resource, each).add(name);
      }
      return { what, names: new Set(found.left) };
    });
    for (const { what, groups } of this.groupByAccess(left)) {
      const holders = isHeldByAll(what.privilege) ? groups : groups.flat().map((name) => [name]);
      for (const names of holders) add(this.principals.principalOf(names), what);
    }
    const together = [...merged.values()].map((grant) => ({ ...grant, privileges: withSums(grant.privileges) }));
    together.sort((a, b) => compareNodes(a.resource, b.resource));
    return byPrincipal([...together, ...this.alone]);
  }

  private policies(held: HeldRights): { policies: SnapshotPolicy[]; unrestricted: Unrestricted[] } {
    const unrestricted: Unrestricted[] = [];
    const applied = new Map<string, PolicyOfOne>();
    const add = (policy: PolicyOfOne): void => {
      const { privileges, ...rest } = { privileges: undefined, ...policy };
      const known = getOrInsert(applied, JSON.stringify(rest), () => policy);
      if (known.kind !== 'deny' || policy.kind !== 'deny') return;
      const parts = [...known.privileges, ...policy.privileges].flatMap(partsOf);
      applied.set(JSON.stringify(rest), { ...policy, privileges: withSums(parts) });
    };
    const rows = [...this.restricting.values()];
    const left = rows.map(({ what, names }) => {
      const found = this.coverOf({ what, names }, held);
      for (const name of found.missed) unrestricted.push({ name, resource: what.resource });
      for (const { holder, except } of found.applied) {
        const excepted = except
          .map((each) => this.principals.toPrincipal(each))
          .filter((holder) => holder.type !== 'everyone');
        add({ ...what, principal: this.principals.toPrincipal(holder), except: excepted });
      }
      return { what, names: new Set(found.left) };
    });
    for (const { what, groups } of this.groupByAccess(left))
      for (const names of groups) add({ ...what, principal: this.principals.principalOf(names), except: [] });
    return { policies: byPrincipal([...applied.values(), ...this.denied]), unrestricted };
  }

  private coverOf({ what, names }: Row<PolicyDetails>, held: HeldRights): ReturnType<GroupCover['coverPolicy']> {
    const isSpared = (name: string): boolean =>
      !this.cover.isPair.has(name) && held.isSpared(name, what, !this.isJoiner.has(name));
    // Access to `system` comes with any other access, so it is denied to everyone.
    const isForAll = what.resource.catalog === SYSTEM ? true : undefined;
    return this.cover.coverPolicy(names, isSpared, (name) => held.losesOnlyYielding(name, what), isForAll);
  }

  /** By node and privilege, the users for whom a grant changes nothing: they have the privilege there, or a deny takes it. */
  private reachedUsers(): Map<string, Set<string>> {
    const found = new Map<string, Set<string>>();
    const add = (node: Node, privileges: Iterable<Privilege>, names: ReadonlySet<string>): void => {
      for (const privilege of privileges) {
        const known = getOrInsert(found, keyOf(node, privilege), () => new Set<string>());
        for (const name of names) known.add(name);
      }
    };
    for (const { what, names } of this.given.values()) {
      add(what.resource, withContained([what.privilege]), names);
      // EXECUTE_QUERIES and reading the open system schemas come with it.
      if (!PRIVILEGE_TERMS[what.privilege].usedByStatements) continue;
      add({ engine: true }, ['EXECUTE_QUERIES'], names);
      for (const schema of OPEN_SYSTEM_SCHEMAS) add({ catalog: SYSTEM, schema }, ['SELECT'], names);
    }
    for (const { what, names } of this.restricting.values())
      if (what.kind === 'deny') add(what.resource, withTaken(what.privileges), names);
    return found;
  }

  /** Divides the users of each row into groups: all together if the same users have rows on several nodes, otherwise by equal access. */
  private groupByAccess<T extends { resource: Node }>(rows: readonly Row<T>[]): { what: T; groups: string[][] }[] {
    const place = (name: string): number => this.places.get(name) ?? 0;
    const ordered = rows.map(({ what, names }) => ({ what, users: [...names].sort((a, b) => place(a) - place(b)) }));
    const nodes = new Map<string, Set<string>>();
    for (const { what, users } of ordered)
      getOrInsert(nodes, users.join('\0'), () => new Set<string>()).add(nodeKey(what.resource));
    return ordered.map(({ what, users }) => {
      const parts = new Map<readonly string[] | undefined, string[]>();
      for (const name of users) getOrInsert(parts, this.alike.get(name), () => []).push(name);
      const isOne = parts.size >= MOST_KINDS || (nodes.get(users.join('\0'))?.size ?? 0) > 1;
      return { what, groups: isOne && users.length > 0 ? [users] : [...parts.values()] };
    });
  }
}

/** Users of one row with this many different kinds of access become one group. */
const MOST_KINDS = 4;

/** Whether groups and everyone can hold a privilege. */
function isHeldByAll(privilege: Privilege): boolean {
  return holderProblem([privilege], { type: 'everyone' }) === null;
}

const LASTING = { expiresAt: null, revokedAt: null };

function note<T extends object>(rows: Map<string, Row<T>>, what: T, names: readonly string[]): void {
  const row = getOrInsert(rows, JSON.stringify(what), () => ({ what, names: new Set<string>() }));
  for (const name of names) row.names.add(name);
}

function partsOf(privilege: Privilege): readonly Privilege[] {
  const { parts } = PRIVILEGE_TERMS[privilege];
  return parts.length === 0 ? [privilege] : parts;
}

function keyOf(node: Node, privilege: Privilege): string {
  return `${nodeKey(node)} ${privilege}`;
}

/** Orders rows by principal, and numbers them. */
function byPrincipal<T extends { principal: PolicyPrincipal }>(rows: readonly T[]): (T & { id: number })[] {
  const found = new Map<string, T[]>();
  for (const row of rows) getOrInsert(found, principalText(row.principal), () => []).push(row);
  return [...found.values()].flat().map((row, i) => ({ ...row, id: i + 1 }));
}

/** Rights of each user and joiner, which policies for others must not take. */
class HeldRights {
  private readonly byName = new Map<string, Given[]>();

  constructor(given: Iterable<Row<Given>>) {
    for (const { what, names } of given) for (const name of names) getOrInsert(this.byName, name, () => []).push(what);
  }

  /** The node of a deny that takes nothing else from the user: the catalog if the user has nothing in it; null: every deny takes more. */
  denyNode(name: string, resource: Node, privileges: Privilege[]): Node | null {
    const { catalog } = resource;
    const held = this.heldBy(name);
    // Any access includes reading in `system`.
    if (catalog === SYSTEM) return held.length === 0 ? resource : null;
    if (catalog !== undefined && isInTree(resource) && held.every((each) => !isInCatalog(each.resource, catalog)))
      return { catalog };
    return held.some((each) => isHarmed(each, { kind: 'deny', resource, privileges })) ? null : resource;
  }

  /** Whether a user must be excepted from a policy, because it would take something. */
  isSpared(name: string, policy: PolicyDetails, isListed: boolean): boolean {
    const { resource } = policy;
    const { catalog } = resource;
    // Two masks of one column contradict each other even without a grant.
    if (policy.kind === 'column_mask' && isListed) return true;
    const held = this.heldBy(name);
    if (catalog === SYSTEM) return held.length > 0;
    if (policy.kind === 'deny') return held.some((each) => isHarmed(each, policy));
    return held.some((each) => catalog === undefined || isInCatalog(each.resource, catalog));
  }

  /** Whether a user loses by a deny only rights that yield to it. Another group of that user may then give the denied access. */
  losesOnlyYielding(name: string, policy: PolicyDetails): boolean {
    if (policy.kind !== 'deny' || policy.resource.catalog === SYSTEM) return false;
    return !this.heldBy(name).some((each) => isTaken(each, policy));
  }

  private heldBy(name: string): readonly Given[] {
    return this.byName.get(name) ?? [];
  }
}

function isInCatalog({ catalog, engine, queries, as }: Node, name: string): boolean {
  if (engine !== undefined || queries !== undefined || as !== undefined) return false;
  return catalog === undefined || catalog === name;
}

/** Whether a policy concerns a right that is held. */
function isTaken({ resource, privilege }: Given, policy: PolicyDetails): boolean {
  if (!covers(resource, policy.resource) && !covers(policy.resource, resource)) return false;
  if (policy.kind !== 'deny') return true;
  const lost = withTaken(policy.privileges);
  return [...withContained([privilege])].some((each) => lost.has(each));
}

/** Whether a deny takes a held right, by name or because the right yields to it. */
function isHarmed(held: Given, policy: Extract<PolicyDetails, { kind: 'deny' }>): boolean {
  if (isTaken(held, policy)) return true;
  if (!policy.privileges.some(isOverData)) return false;
  const { catalog } = policy.resource;
  const isInScope =
    catalog === undefined
      ? isInTree(held.resource) || held.resource.routine !== undefined
      : isInCatalog(held.resource, catalog);
  return isInScope && (isOverRoutines(held.privilege) || PRIVILEGE_TERMS[held.privilege].yieldsToRestrictions);
}
