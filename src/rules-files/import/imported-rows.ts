import { getOrInsert } from '../../kernel/collections.js';
import {
  combined,
  holderProblem,
  type Privilege,
  PRIVILEGE_TERMS,
  taken,
  withContained,
} from '../../trino-rules/model/privilege.js';
import { compareNodes, depth, nodeKey, pathTo, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { type PolicyPrincipal, type Principal, principalText } from '../../trino-rules/model/principal.js';
import { OPEN_SYSTEM_SCHEMAS } from '../../trino-rules/model/resource.js';
import type { SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import { GroupCover } from './group-cover.js';
import { HeldRights, isTaken } from './held-rights.js';
import { HoldersOfRows } from './holders-of-rows.js';
import type { Joiner } from './joiners.js';
import { ImportedPrincipals } from './imported-principals.js';
import type { Given, PolicyDetails, Row, UserAccess } from './user-access.js';

type PolicyOfOne = PolicyDetails & Pick<SnapshotPolicy, 'principal' | 'except'>;

/** A joiner to whom a restriction cannot be applied, so that nothing may be granted where it is. */
export interface Unrestricted {
  name: string;
  resource: Node;
}

/**
 * The rows of an import: what the file gives everybody or a group, to everyone or to that group, with a deny for those who have less;
 * what is left to users by name, to these and to new groups of them.
 */
export class ImportedRows {
  readonly principals: ImportedPrincipals;
  private readonly cover: GroupCover;
  private readonly given = new Map<string, Row<Given>>();
  private readonly restricting = new Map<string, Row<PolicyDetails>>();
  private readonly alone: Omit<SnapshotGrant, 'id'>[] = [];
  private readonly denied: PolicyOfOne[] = [];
  /** By user, those who are alike in everything. */
  private readonly alike = new Map<string, readonly string[]>();
  private readonly isJoiner: ReadonlySet<string>;

  constructor(
    private readonly listed: readonly ListedUser[],
    joiners: readonly Joiner[],
  ) {
    this.principals = new ImportedPrincipals(listed);
    this.cover = new GroupCover(listed, joiners);
    this.isJoiner = new Set(joiners.map(({ name }) => name));
  }

  /** Gives all of these the same access. */
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

  /** To this principal, whatever others have. */
  grant(principal: Principal, resource: Node, privileges: Privilege[]): void {
    this.alone.push({ principal, resource, privileges, ...LASTING });
  }

  /** The same, of a deny. */
  deny(principal: Principal, resource: Node, privileges: Privilege[]): void {
    this.denied.push({ kind: 'deny', principal, resource, privileges, except: [] });
  }

  /** Grants and policies, and what they cannot keep from joiners. */
  written(): { grants: SnapshotGrant[]; policies: SnapshotPolicy[]; unrestricted: Unrestricted[] } {
    // Denies stand beside grants to groups of which some have less.
    const held = new HeldRights(this.given.values());
    const open = [...this.restricting.values()].flatMap(({ what, names }) => {
      const pairs = this.applied({ what, names }, held).missed.filter((name) => this.cover.isPair.has(name));
      return pairs.length === 0 ? [] : [{ what, names: new Set(pairs) }];
    });
    const grants = this.grants(held, open);
    const { policies, unrestricted } = this.policies(held);
    const isOpen = ({ name, resource }: Unrestricted): boolean =>
      open.some(({ what, names }) => what.resource === resource && names.has(name));
    return { grants, policies, unrestricted: unrestricted.filter((each) => !isOpen(each)) };
  }

  /** @param open policies that cannot be applied to pairs: their groups get nothing that these would take */
  private grants(held: HeldRights, open: readonly Row<PolicyDetails>[]): SnapshotGrant[] {
    const isHeld = this.reached();
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
          const node = held.deniable(name, resource, privileges) ?? (this.cover.isPair.has(name) ? resource : null);
          if (node === null) return null;
          note(those, { kind: 'deny', resource: node, privileges }, [name]);
        }
        return [...those.values()];
      };
      const barred = open.flatMap((row) => (isTaken(what, row.what) ? [...row.names] : []));
      const found = this.cover.ofGrant(
        names,
        new Set(barred),
        (name) => lacking(name).length === 0,
        (denied) => denies(denied)?.every((row) => this.applied(row, held).missed.length === 0) === true,
      );
      for (const holder of found.holders) add(this.principals.holder(holder), what);
      for (const { what: deny, names: denied } of denies(found.denied) ?? []) {
        note(this.restricting, deny, [...denied]);
        if (deny.kind === 'deny')
          for (const each of taken(deny.privileges))
            for (const name of denied) holdersOf(deny.resource, each).add(name);
      }
      return { what, names: new Set(found.left) };
    });
    const holders = this.holders(left, ({ resource, privilege }) => {
      const path = pathTo(resource).map((node) => isHeld.get(keyOf(node, privilege)));
      return (name) => path.some((names) => names?.has(name) === true);
    });
    left.forEach(({ what }, i) => {
      for (const principal of this.holdersAs(holders[i] ?? [], what.privilege)) add(principal, what);
    });
    const together = [...merged.values()].map((grant) => ({ ...grant, privileges: combined(grant.privileges) }));
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
      applied.set(JSON.stringify(rest), { ...policy, privileges: combined(parts) });
    };
    const rows = [...this.restricting.values()];
    const left = rows.map(({ what, names }) => {
      const found = this.applied({ what, names }, held);
      for (const name of found.missed) unrestricted.push({ name, resource: what.resource });
      for (const { holder, except } of found.applied) {
        const excepted = except.map((each) => this.principals.holder(each)).filter(isPrincipal);
        add({ ...what, principal: this.principals.holder(holder), except: excepted });
      }
      return { what, names: new Set(found.left) };
    });
    const holders = this.holders(left, (_, names) => (name) => names.has(name));
    left.forEach(({ what }, i) => {
      for (const principal of this.holdersAs(holders[i] ?? [])) add({ ...what, principal, except: [] });
    });
    return { policies: byPrincipal([...applied.values(), ...this.denied]), unrestricted };
  }

  /** The groups and users that a policy names. */
  private applied({ what, names }: Row<PolicyDetails>, held: HeldRights): ReturnType<GroupCover['ofPolicy']> {
    const isSpared = (name: string): boolean =>
      !this.cover.isPair.has(name) && held.isSpared(name, what, !this.isJoiner.has(name));
    // What comes with any access is taken from everyone.
    const isForAll = what.resource.catalog === SYSTEM ? true : undefined;
    return this.cover.ofPolicy(names, isSpared, (name) => held.isBeside(name, what), isForAll);
  }

  /** Users to whom a privilege on a node makes no difference: they have it there, or a deny there or above takes it. */
  private reached(): Map<string, Set<string>> {
    const found = new Map<string, Set<string>>();
    const add = (node: Node, privileges: Iterable<Privilege>, names: ReadonlySet<string>): void => {
      for (const privilege of privileges) {
        const known = getOrInsert(found, keyOf(node, privilege), () => new Set<string>());
        for (const name of names) known.add(name);
      }
    };
    for (const { what, names } of this.given.values()) {
      add(what.resource, withContained([what.privilege]), names);
      // Executing, and reading what everybody reads, come with it.
      if (!PRIVILEGE_TERMS[what.privilege].usedByStatements) continue;
      add({ engine: true }, ['EXECUTE_QUERIES'], names);
      for (const schema of OPEN_SYSTEM_SCHEMAS) add({ catalog: SYSTEM, schema }, ['SELECT'], names);
    }
    for (const { what, names } of this.restricting.values())
      if (what.kind === 'deny') add(what.resource, taken(what.privileges), names);
    return found;
  }

  private holders<T extends { resource: Node }>(
    rows: readonly Row<T>[],
    mayHold: (what: T, names: ReadonlySet<string>) => (name: string) => boolean,
  ): (readonly (readonly string[])[])[] {
    const found = new HoldersOfRows(this.listed, this.alike);
    return found.of(
      rows.map(({ what, names }) => ({ names, mayHold: mayHold(what, names), at: nodeKey(what.resource) })),
    );
  }

  /** What no group may hold, its members hold. */
  private holdersAs(holders: readonly (readonly string[])[], privilege?: Privilege): Principal[] {
    return holders.flatMap((names) => {
      const isHeld = privilege === undefined || isHeldByAll(privilege);
      return isHeld ? [this.principals.of(names)] : names.map((name) => this.principals.user(name));
    });
  }
}

function isPrincipal(principal: PolicyPrincipal): principal is Principal {
  return principal.type !== 'everyone';
}

/** Whether groups and everyone may have it. */
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

/** Those of one principal together, numbered. */
function byPrincipal<T extends { principal: PolicyPrincipal }>(rows: readonly T[]): (T & { id: number })[] {
  const found = new Map<string, T[]>();
  for (const row of rows) getOrInsert(found, principalText(row.principal), () => []).push(row);
  return [...found.values()].flat().map((row, i) => ({ ...row, id: i + 1 }));
}
