import type { PolicyPrincipal, Subject } from '../model/principal.js';
import { isLive, type Snapshot, type SnapshotPolicy } from '../model/snapshot.js';

/**
 * The principals of a snapshot, numbered, and the members of what its grants and policies name. For the proof alone: the
 * compiler has an index of its own, and a fault in one is none in the other.
 */
export class PrincipalIndex {
  /** Positions are the proof's numbers of principals. */
  readonly subjects: readonly Subject[];
  readonly serviceAccounts: readonly number[];
  readonly activePeople: readonly number[];
  /** An engine principal is known by a live grant on an open node, or by being in a group. */
  private readonly everyone: readonly number[];
  private readonly accounts: ReadonlySet<string>;
  private readonly byAccount = new Map<number, number>();
  private readonly byEngineName = new Map<string, number>();
  private readonly rows: ReadonlySet<string>;
  private readonly byGroup: ReadonlyMap<number, readonly number[]>;

  constructor({ users, groups, grants, policies, settings, at }: Snapshot) {
    const list: Subject[] = [];
    const enter = (subject: Subject): number => list.push(subject) - 1;
    const accounts = new Set(settings.serviceAccounts);
    this.accounts = accounts;
    for (const { id, name, isActive } of [...users].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const position = enter({ kind: 'person', name, userId: id, isActive });
      if (isActive) this.byAccount.set(id, position);
    }
    const principals: PolicyPrincipal[] = [...grants, ...policies].map(({ principal }) => principal);
    const named = [...principals, ...policies.flatMap(({ except }) => except)];
    const inGroups = groups.flatMap((group) => group.engines);
    for (const name of [...named.flatMap((each) => (each.type === 'engine' ? [each.name] : [])), ...inGroups]) {
      if (accounts.has(name) || this.byEngineName.has(name)) continue;
      this.byEngineName.set(name, enter({ kind: 'engine', name }));
    }
    this.serviceAccounts = [...accounts].map((name) => enter({ kind: 'service-account', name }));
    this.subjects = list;
    this.activePeople = [...this.byAccount.values()];
    this.rows = new Set([...users.map(({ id }) => `user:${id}`), ...groups.map(({ id }) => `group:${id}`)]);
    const known = new Set(inGroups.flatMap((name) => oneOrNone(this.byEngineName.get(name))));
    for (const grant of grants) {
      if (grant.principal.type !== 'engine' || !isLive(grant, at)) continue;
      if (grant.resource.catalog === settings.metadataCatalog || !this.exists(grant.resource.as)) continue;
      for (const position of oneOrNone(this.byEngineName.get(grant.principal.name))) known.add(position);
    }
    this.everyone = [...this.activePeople, ...known];
    this.byGroup = new Map(
      groups.map(({ id, members, engines }) => [
        id,
        [
          ...members.flatMap((member) => this.account(member)),
          ...engines.flatMap((name) => oneOrNone(this.byEngineName.get(name))),
        ],
      ]),
    );
  }

  /** Members of what a grant or a policy names: active people and engine principals, never a service account. */
  resolvePrincipal(named: PolicyPrincipal): readonly number[] {
    switch (named.type) {
      case 'everyone':
        return this.everyone;
      case 'user':
        return this.account(named.id);
      case 'group':
        return this.byGroup.get(named.id) ?? [];
      case 'engine':
        return oneOrNone(this.byEngineName.get(named.name));
    }
  }

  /** The same without the policy's exceptions. */
  resolvePolicy({ principal, except }: SnapshotPolicy): readonly number[] {
    const excepted = new Set(except.flatMap((each) => this.resolvePrincipal(each)));
    return this.resolvePrincipal(principal).filter((position) => !excepted.has(position));
  }

  /** Whether somebody can be meant: a grant of acting as a row that is none, or as a service account, is no grant. */
  exists(as: PolicyPrincipal | undefined): boolean {
    if (as === undefined || as.type === 'everyone') return true;
    return as.type === 'engine' ? !this.accounts.has(as.name) : this.rows.has(`${as.type}:${as.id}`);
  }

  private account(id: number): readonly number[] {
    return oneOrNone(this.byAccount.get(id));
  }
}

function oneOrNone(position: number | undefined): number[] {
  return position === undefined ? [] : [position];
}
