import { getOrInsert } from '../../kernel/get-or-insert.js';
import { holderProblem } from '../../trino-rules/model/holder.js';
import { compareNodes, nodeKey, pathTo, SYSTEM, type Node } from '../../trino-rules/model/node.js';
import { type PolicyPrincipal, type Principal, principalText } from '../../trino-rules/model/principal.js';
import { combined, type Privilege, PRIVILEGE_TERMS, taken, withContained } from '../../trino-rules/model/privilege.js';
import type { SnapshotGrant, SnapshotGroup, SnapshotPolicy, SnapshotUser } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import { GroupNames } from './group-names.js';
import { type Holders, HoldersOfRows } from './holders-of-rows.js';
import type { UserAccess } from './user-access.js';

type Details<P> = P extends SnapshotPolicy ? Omit<P, 'id' | 'principal' | 'except'> : never;
type PolicyDetails = Details<SnapshotPolicy>;
type PolicyOfOne = PolicyDetails & Pick<SnapshotPolicy, 'principal' | 'except'>;

/** One privilege on a node, or one policy, and all users who are to have it. */
interface Row<T> {
  what: T;
  names: Set<string>;
}

/** The rows of an import: each grant and policy once, to groups of the list where these have it, and to users and new groups else. */
export class ImportedRows {
  readonly users: SnapshotUser[];
  readonly groups: SnapshotGroup[] = [];
  private readonly ids: ReadonlyMap<string, number>;
  private readonly groupNames: GroupNames;
  private readonly groupOf = new Map<string, Principal>();
  private readonly given = new Map<string, Row<{ resource: Node; privilege: Privilege }>>();
  private readonly restricting = new Map<string, Row<PolicyDetails>>();
  private readonly alone: Omit<SnapshotGrant, 'id'>[] = [];
  private readonly denied: PolicyOfOne[] = [];
  /** By user, those who are alike in everything. */
  private readonly alike = new Map<string, readonly string[]>();

  constructor(private readonly listed: readonly ListedUser[]) {
    const accounts = new Set(listed.filter(({ isEngine }) => isEngine !== true).map(({ name }) => name));
    this.users = [...accounts].map((name, i) => ({ id: i + 1, name, isActive: true }));
    this.ids = new Map(this.users.map(({ id, name }) => [name, id]));
    this.groupNames = new GroupNames(listed);
  }

  /** A single user, or the group of these, which is made where there is none. */
  principal(names: readonly string[]): Principal {
    const [first, ...others] = names;
    if (first !== undefined && others.length === 0) return this.user(first);
    return getOrInsert(this.groupOf, JSON.stringify([...names].sort()), () => {
      const id = this.groups.length + 1;
      const users = names.map((name) => this.user(name));
      this.groups.push({
        id,
        name: this.groupNames.take(names),
        members: users.flatMap((user) => (user.type === 'user' ? [user.id] : [])),
        engines: users.flatMap((user) => (user.type === 'engine' ? [user.name] : [])),
      });
      return { type: 'group', id };
    });
  }

  /** Gives all of these the same access. */
  give(names: readonly string[], access: Partial<UserAccess>): void {
    for (const name of names) this.alike.set(name, names);
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

  grants(): SnapshotGrant[] {
    const isHeld = this.reached();
    const rows = [...this.given.values()];
    const holders = this.holders(rows, ({ resource, privilege }) => {
      const path = pathTo(resource).map((node) => isHeld.get(keyOf(node, privilege)));
      return (name) => path.some((names) => names?.has(name) === true);
    });
    const merged = new Map<string, Omit<SnapshotGrant, 'id'>>();
    rows.forEach(({ what: { resource, privilege } }, i) => {
      for (const principal of this.principals(holders[i] ?? [], privilege)) {
        const key = `${principalText(principal)} ${nodeKey(resource)}`;
        const privileges = [...(merged.get(key)?.privileges ?? []), privilege];
        merged.set(key, { principal, resource, privileges, ...LASTING });
      }
    });
    const together = [...merged.values()].map((grant) => ({ ...grant, privileges: combined(grant.privileges) }));
    together.sort((a, b) => compareNodes(a.resource, b.resource));
    return byPrincipal([...together, ...this.alone]);
  }

  policies(): SnapshotPolicy[] {
    const rows = [...this.restricting.values()];
    const holders = this.holders(rows, (_, names) => (name) => names.has(name));
    const classes = new Set(this.alike.values()).size;
    const shared = rows.flatMap(({ what, names }, i) => {
      // What is denied to each of them is one policy.
      const isOfAll = what.resource.catalog === SYSTEM && names.size === this.alike.size && classes > 1;
      const principals: PolicyPrincipal[] = isOfAll ? [{ type: 'everyone' }] : this.principals(holders[i] ?? []);
      return principals.map((principal) => ({ ...what, principal, except: [] }));
    });
    return byPrincipal([...shared, ...this.denied]);
  }

  /** Users to whom a privilege on a node makes no difference: they have it there, or a deny there or above takes it. */
  private reached(): ReadonlyMap<string, ReadonlySet<string>> {
    const found = new Map<string, Set<string>>();
    const add = (node: Node, privileges: Iterable<Privilege>, names: ReadonlySet<string>): void => {
      for (const privilege of privileges) {
        const known = getOrInsert(found, keyOf(node, privilege), () => new Set<string>());
        for (const name of names) known.add(name);
      }
    };
    for (const { what, names } of this.given.values()) add(what.resource, withContained([what.privilege]), names);
    for (const { what, names } of this.restricting.values())
      if (what.kind === 'deny') add(what.resource, taken(what.privileges), names);
    return found;
  }

  private holders<T extends { resource: Node }>(
    rows: readonly Row<T>[],
    mayHold: (what: T, names: ReadonlySet<string>) => (name: string) => boolean,
  ): Holders[] {
    const found = new HoldersOfRows(this.listed, this.alike);
    return found.of(
      rows.map(({ what, names }) => ({ names, mayHold: mayHold(what, names), at: nodeKey(what.resource) })),
    );
  }

  /** What no group may hold, its members hold. */
  private principals(holders: Holders, privilege?: Privilege): Principal[] {
    return holders.flatMap((names) => {
      const principal = this.principal(names);
      const isHeld = privilege === undefined || holderProblem([privilege], principal) === null;
      return isHeld ? [principal] : names.map((name) => this.user(name));
    });
  }

  private user(name: string): Principal {
    const id = this.ids.get(name);
    return id === undefined ? { type: 'engine', name } : { type: 'user', id };
  }
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
