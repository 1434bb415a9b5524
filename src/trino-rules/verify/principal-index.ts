import { principalsIn } from '../model/guarantee.js';
import { namedBy } from '../model/node.js';
import type { PolicyPrincipal, Subject } from '../model/principal.js';
import { isLive, type Snapshot, type SnapshotPolicy } from '../model/snapshot.js';

/** Numbers the principals of a snapshot and resolves those of grants and policies. Independent of the compiler's index. */
export class PrincipalIndex {
  readonly subjects: readonly Subject[];
  readonly serviceAccounts: readonly number[];
  readonly activePeople: readonly number[];
  /** Includes known engine principals: those with a live grant on an open node, or in a group. */
  private readonly everyone: readonly number[];
  private readonly accounts: ReadonlySet<string>;
  private readonly byAccount = new Map<number, number>();
  /** Positions by id, also of deactivated users. */
  private readonly byUser = new Map<number, number>();
  private readonly byEngineName = new Map<string, number>();
  private readonly rows: ReadonlySet<string>;
  private readonly byGroup: ReadonlyMap<number, readonly number[]>;
  private readonly accountsOf: ReadonlyMap<number, readonly number[]>;

  constructor({ users, groups, grants, policies, settings, at, guarantees = [] }: Snapshot) {
    const list: Subject[] = [];
    const enter = (subject: Subject): number => list.push(subject) - 1;
    const accounts = new Set(settings.serviceAccounts);
    this.accounts = accounts;
    for (const { id, name, isActive } of [...users].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const position = enter({ kind: 'person', name, userId: id, isActive });
      if (isActive) this.byAccount.set(id, position);
      this.byUser.set(id, position);
    }
    const principals: PolicyPrincipal[] = [...grants, ...policies].map(({ principal }) => principal);
    const owners = [...grants, ...policies].flatMap(({ resource }) => resource.queries ?? []);
    const inGuarantees = guarantees.flatMap(principalsIn);
    const named = [...principals, ...owners, ...policies.flatMap(({ except }) => except), ...inGuarantees];
    const inGroups = groups.flatMap((group) => group.engines);
    for (const name of [...named.flatMap((each) => (each.type === 'engine' ? [each.name] : [])), ...inGroups]) {
      if (accounts.has(name) || this.byEngineName.has(name)) continue;
      this.byEngineName.set(name, enter({ kind: 'engine', name }));
    }
    this.serviceAccounts = [...accounts].map((name) => enter({ kind: 'service-account', name }));
    this.subjects = list;
    this.activePeople = [...this.byAccount.values()];
    this.rows = new Set([...users.map(({ id }) => `user:${id}`), ...groups.map(({ id }) => `group:${id}`)]);
    const known = new Set(positionsOf(inGroups, this.byEngineName));
    for (const grant of grants) {
      if (grant.principal.type !== 'engine' || !isLive(grant, at)) continue;
      if (grant.resource.catalog === settings.metadataCatalog || !this.exists(namedBy(grant.resource))) continue;
      for (const position of positionsOf([grant.principal.name], this.byEngineName)) known.add(position);
    }
    this.everyone = [...this.activePeople, ...known];
    this.accountsOf = new Map(groups.map(({ id, members }) => [id, members]));
    this.byGroup = new Map(
      groups.map(({ id, members, engines }) => [
        id,
        [...positionsOf(members, this.byAccount), ...positionsOf(engines, this.byEngineName)],
      ]),
    );
  }

  /** Members of a principal: active people and engine principals, never a service account. */
  resolvePrincipal(named: PolicyPrincipal): readonly number[] {
    switch (named.type) {
      case 'everyone':
        return this.everyone;
      case 'user':
        return positionsOf([named.id], this.byAccount);
      case 'group':
        return this.byGroup.get(named.id) ?? [];
      case 'engine':
        return positionsOf([named.name], this.byEngineName);
    }
  }

  /** Owners of queries: also deactivated people, because their running queries continue. */
  resolveOwners(named: PolicyPrincipal): ReadonlySet<number> {
    const people =
      named.type === 'user'
        ? [named.id]
        : named.type === 'group'
          ? (this.accountsOf.get(named.id) ?? [])
          : named.type === 'everyone'
            ? [...this.byUser.keys()]
            : [];
    return new Set([...this.resolvePrincipal(named), ...positionsOf(people, this.byUser)]);
  }

  /** Members of a policy's principal, without its exceptions. */
  resolvePolicy({ principal, except }: SnapshotPolicy): readonly number[] {
    const excepted = new Set(except.flatMap((each) => this.resolvePrincipal(each)));
    return this.resolvePrincipal(principal).filter((position) => !excepted.has(position));
  }

  /** Whether the principal in a grant's node exists; without it the grant has no effect. */
  exists(named: PolicyPrincipal | undefined): boolean {
    if (named === undefined || named.type === 'everyone') return true;
    return named.type === 'engine' ? !this.accounts.has(named.name) : this.rows.has(`${named.type}:${named.id}`);
  }
}

function positionsOf<K>(keys: readonly K[], positions: ReadonlyMap<K, number>): number[] {
  return keys.flatMap((key) => positions.get(key) ?? []);
}
