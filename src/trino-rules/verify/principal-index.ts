import { principalsIn } from '../model/guarantee.js';
import { principalIn } from '../model/node.js';
import type { PolicyPrincipal, Subject } from '../model/principal.js';
import { isLive, type Snapshot, type SnapshotPolicy } from '../model/snapshot.js';

/** Numbers the principals of a snapshot, and resolves principals to these numbers. Shares no code with the compiler's index. */
export class PrincipalIndex {
  readonly subjects: readonly Subject[];
  readonly serviceAccounts: readonly number[];
  readonly activePeople: readonly number[];
  /** The members of everyone: active people, and engine principals that have a live grant or are in a group. */
  private readonly everyone: readonly number[];
  private readonly serviceAccountNames: ReadonlySet<string>;
  private readonly activePositionsById = new Map<number, number>();
  /** The position in `subjects` of each account, active or not, by account id. */
  private readonly positionsByAccountId = new Map<number, number>();
  private readonly positionsByEngine = new Map<string, number>();
  private readonly existingKeys: ReadonlySet<string>;
  private readonly membersByGroup: ReadonlyMap<number, readonly number[]>;
  private readonly accountIdsByGroup: ReadonlyMap<number, readonly number[]>;

  constructor({ users, groups, grants, policies, settings, at, guarantees = [] }: Snapshot) {
    const subjects: Subject[] = [];
    const addSubject = (subject: Subject): number => subjects.push(subject) - 1;
    const serviceAccountNames = new Set(settings.serviceAccounts);
    this.serviceAccountNames = serviceAccountNames;
    for (const { id, name, isActive } of [...users].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const position = addSubject({ kind: 'person', name, userId: id, isActive });
      if (isActive) this.activePositionsById.set(id, position);
      this.positionsByAccountId.set(id, position);
    }
    const entries = [...grants, ...policies];
    const namedPrincipals: PolicyPrincipal[] = [
      ...entries.map(({ principal }) => principal),
      ...entries.flatMap(({ resource }) => resource.queries ?? []),
      ...policies.flatMap(({ except }) => except),
      ...guarantees.flatMap(principalsIn),
    ];
    const groupEngines = groups.flatMap((group) => group.engines);
    const namedEngines = namedPrincipals.flatMap((each) => (each.type === 'engine' ? [each.name] : []));
    for (const name of [...namedEngines, ...groupEngines]) {
      if (serviceAccountNames.has(name) || this.positionsByEngine.has(name)) continue;
      this.positionsByEngine.set(name, addSubject({ kind: 'engine', name }));
    }
    this.serviceAccounts = [...serviceAccountNames].map((name) => addSubject({ kind: 'service-account', name }));
    this.subjects = subjects;
    this.activePeople = [...this.activePositionsById.values()];
    this.existingKeys = new Set([...users.map(({ id }) => `user:${id}`), ...groups.map(({ id }) => `group:${id}`)]);
    const knownEngines = new Set(positionsOf(groupEngines, this.positionsByEngine));
    for (const grant of grants) {
      if (grant.principal.type !== 'engine' || !isLive(grant, at)) continue;
      if (grant.resource.catalog === settings.metadataCatalog || !this.exists(principalIn(grant.resource))) continue;
      for (const position of positionsOf([grant.principal.name], this.positionsByEngine)) knownEngines.add(position);
    }
    this.everyone = [...this.activePeople, ...knownEngines];
    this.accountIdsByGroup = new Map(groups.map(({ id, members }) => [id, members]));
    this.membersByGroup = new Map(
      groups.map(({ id, members, engines }) => [
        id,
        [...positionsOf(members, this.activePositionsById), ...positionsOf(engines, this.positionsByEngine)],
      ]),
    );
  }

  /** The members of a principal: active people and engine principals, but no service accounts. */
  resolvePrincipal(principal: PolicyPrincipal): readonly number[] {
    switch (principal.type) {
      case 'everyone':
        return this.everyone;
      case 'user':
        return positionsOf([principal.id], this.activePositionsById);
      case 'group':
        return this.membersByGroup.get(principal.id) ?? [];
      case 'engine':
        return positionsOf([principal.name], this.positionsByEngine);
    }
  }

  /** The owners of a principal's queries: its members, and also deactivated people, because their running queries continue. */
  resolveOwners(principal: PolicyPrincipal): ReadonlySet<number> {
    const accountIds =
      principal.type === 'user'
        ? [principal.id]
        : principal.type === 'group'
          ? (this.accountIdsByGroup.get(principal.id) ?? [])
          : principal.type === 'everyone'
            ? [...this.positionsByAccountId.keys()]
            : [];
    return new Set([...this.resolvePrincipal(principal), ...positionsOf(accountIds, this.positionsByAccountId)]);
  }

  resolvePolicy({ principal, except }: SnapshotPolicy): readonly number[] {
    const exceptionPositions = new Set(except.flatMap((principal) => this.resolvePrincipal(principal)));
    return this.resolvePrincipal(principal).filter((position) => !exceptionPositions.has(position));
  }

  /** False: a grant that names this principal in its node (`as`, `queries`) has no effect. */
  exists(principal: PolicyPrincipal | undefined): boolean {
    if (principal === undefined || principal.type === 'everyone') return true;
    return principal.type === 'engine'
      ? !this.serviceAccountNames.has(principal.name)
      : this.existingKeys.has(`${principal.type}:${principal.id}`);
  }
}

function positionsOf<K>(keys: readonly K[], positions: ReadonlyMap<K, number>): number[] {
  return keys.flatMap((key) => positions.get(key) ?? []);
}
