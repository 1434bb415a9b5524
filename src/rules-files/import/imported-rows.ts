import type { Node } from '../../trino-rules/model/node.js';
import { holderProblem } from '../../trino-rules/model/holder.js';
import type { PolicyPrincipal, Principal } from '../../trino-rules/model/principal.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import type { SnapshotGrant, SnapshotGroup, SnapshotPolicy, SnapshotUser } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import { GroupNames } from './group-names.js';
import type { UserAccess } from './user-access.js';

/** The rows of an import. Users who are named together become a group, by the name of the list's group of exactly these, if it has one. */
export class ImportedRows {
  readonly users: SnapshotUser[];
  readonly groups: SnapshotGroup[] = [];
  readonly grants: SnapshotGrant[] = [];
  readonly policies: SnapshotPolicy[] = [];
  private readonly ids: ReadonlyMap<string, number>;
  private readonly groupNames: GroupNames;
  private readonly groupOf = new Map<string, Principal>();

  constructor(listed: readonly ListedUser[]) {
    const accounts = new Set(listed.filter(({ isEngine }) => isEngine !== true).map(({ name }) => name));
    this.users = [...accounts].map((name, i) => ({ id: i + 1, name, isActive: true }));
    this.ids = new Map(this.users.map(({ id, name }) => [name, id]));
    this.groupNames = new GroupNames(listed);
  }

  /** A single user, or the group of these, which is made where there is none. */
  principal(names: readonly string[]): Principal {
    const [first, ...others] = names;
    if (first !== undefined && others.length === 0) return this.user(first);
    const key = JSON.stringify([...names].sort());
    const known = this.groupOf.get(key);
    if (known !== undefined) return known;
    const id = this.groups.length + 1;
    const users = names.map((name) => this.user(name));
    this.groups.push({
      id,
      name: this.groupNames.take(names),
      members: users.flatMap((user) => (user.type === 'user' ? [user.id] : [])),
      engines: users.flatMap((user) => (user.type === 'engine' ? [user.name] : [])),
    });
    this.groupOf.set(key, { type: 'group', id });
    return { type: 'group', id };
  }

  /** Gives all of these the same access. */
  give(names: readonly string[], access: UserAccess): void {
    const principal = this.principal(names);
    for (const { resource, privileges } of access.grants) {
      // What no group may hold, its members hold.
      const alone = privileges.filter((privilege) => holderProblem([privilege], principal) !== null);
      const together = privileges.filter((privilege) => !alone.includes(privilege));
      this.grant(principal, resource, together);
      for (const name of names) this.grant(this.user(name), resource, alone);
    }
    for (const { resource, privileges } of access.denies) this.deny(principal, resource, privileges);
    for (const row of access.filters) this.policies.push({ ...this.base(principal), kind: 'row_filter', ...row });
    for (const row of access.hidden) this.policies.push({ ...this.base(principal), kind: 'hidden_column', ...row });
    for (const row of access.masks) this.policies.push({ ...this.base(principal), kind: 'column_mask', ...row });
  }

  grant(principal: PolicyPrincipal, resource: Node, privileges: readonly Privilege[]): void {
    if (privileges.length === 0) return;
    const id = this.grants.length + 1;
    this.grants.push({ id, principal, resource, privileges, expiresAt: null, revokedAt: null });
  }

  deny(principal: PolicyPrincipal, resource: Node, privileges: readonly Privilege[]): void {
    this.policies.push({ ...this.base(principal), kind: 'deny', resource, privileges });
  }

  private base(principal: PolicyPrincipal): Pick<SnapshotPolicy, 'id' | 'principal' | 'except'> {
    return { id: this.policies.length + 1, principal, except: [] };
  }

  private user(name: string): Principal {
    const id = this.ids.get(name);
    return id === undefined ? { type: 'engine', name } : { type: 'user', id };
  }
}
