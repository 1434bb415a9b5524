import { getOrInsert } from '../../kernel/collections.js';
import { addAll, addMember, bitset, type Bitset, removeAll } from '../engine/sparse-bitset.js';
import {
  type Privilege,
  privilegesTakenBy,
  privilegesGivenBy,
  isRoutinePrivilege,
  PRIVILEGE_TERMS,
} from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import { type EntrySource, InternedAccess } from './access-entries.js';
import type { PrincipalIndex } from './principal-index.js';
import type { EngineSets } from '../engine/engine-sets.js';
import { type PolicyPrincipal, principalText } from '../model/principal.js';
import { KILL_QUERY, nodeKey, nodeOf, pathTo, type Node } from '../model/node.js';
import type { RoutineQuestion } from '../model/question.js';
import { restrictsData } from '../model/restrictions.js';

/** Users by privilege on the engine itself, according to the grants. A privilege without users may be missing. */
export function expectedEngineRights(
  { grants, policies, at }: Snapshot,
  principals: PrincipalIndex,
  wordCount: number,
): ReadonlyMap<Privilege, Bitset> {
  const emptyAccess = new InternedAccess();
  const accessByPosition = new Map<number, InternedAccess>();
  const addSource = (source: EntrySource, members: readonly number[]): void => {
    for (const position of members)
      accessByPosition.set(position, (accessByPosition.get(position) ?? emptyAccess).withSource(source));
  };
  for (const grant of grants)
    if (grant.resource.engine === true && isLive(grant, at))
      addSource({ privileges: grant.privileges }, principals.resolvePrincipal(grant.principal));
  for (const policy of policies)
    if (policy.resource.engine === true) addSource({ policy }, principals.resolvePolicy(policy));
  const holders = new Map<Privilege, number[]>();
  for (const [position, { access }] of accessByPosition)
    for (const privilege of access.privileges) getOrInsert(holders, privilege, () => []).push(position);
  return new Map([...holders].map(([privilege, positions]) => [privilege, bitset(wordCount, positions)]));
}

const COST_PER_MEMBER = 10;

/** Holders of grants or denies, by the affected user: the user to impersonate, or the owner of queries. */
export class HoldersByAffectedUser {
  private readonly holdersByPrincipal = new Map<string, Bitset>();
  private readonly holdersByPosition = new Map<number, Bitset[]>();

  constructor(
    private readonly engine: Pick<EngineSets, 'wordCount' | 'spend'>,
    private readonly resolvePositions: (principal: PolicyPrincipal) => Iterable<number>,
  ) {}

  add(principal: PolicyPrincipal, users: readonly number[]): void {
    const holderSet = getOrInsert(this.holdersByPrincipal, principalText(principal), () => this.memberSetOf(principal));
    this.engine.spend(users.length);
    for (const user of users) addMember(holderSet, user);
  }

  targetPositions(): Iterable<number> {
    return this.holdersByPosition.keys();
  }

  holderSetsAt(position: number): readonly Bitset[] {
    const holderSets = this.holdersByPosition.get(position) ?? [];
    this.engine.spend(holderSets.length * this.engine.wordCount);
    return holderSets;
  }

  private memberSetOf(principal: PolicyPrincipal): Bitset {
    const set = new Uint32Array(this.engine.wordCount);
    for (const position of this.resolvePositions(principal)) {
      this.engine.spend(COST_PER_MEMBER);
      getOrInsert(this.holdersByPosition, position, () => []).push(set);
    }
    return set;
  }
}

/** Users who may impersonate others, computed from grants and policies without the compiler, for the proof. */
export class ExpectedImpersonation {
  private readonly grantHolders: HoldersByAffectedUser;
  private readonly denyHolders: HoldersByAffectedUser;
  private readonly targets: ReadonlySet<number>;

  constructor(
    { grants, policies, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly engine: Pick<EngineSets, 'wordCount' | 'spend'>,
    isTargetName: (name: string) => boolean,
  ) {
    const newHoldersByTarget = (): HoldersByAffectedUser =>
      new HoldersByAffectedUser(engine, (principal) => principals.resolvePrincipal(principal));
    this.grantHolders = newHoldersByTarget();
    this.denyHolders = newHoldersByTarget();
    const impersonators = new Set<number>();
    for (const grant of grants) {
      const { principal, resource, privileges } = grant;
      if (resource.as === undefined || principal.type !== 'engine' || !principals.exists(resource.as)) continue;
      if (!isLive(grant, at) || !privilegesGivenBy(privileges).has('IMPERSONATE')) continue;
      const holders = principals.resolvePrincipal(principal);
      for (const holder of holders) impersonators.add(holder);
      this.grantHolders.add(resource.as, holders);
    }
    for (const policy of policies)
      if (
        policy.kind === 'deny' &&
        policy.resource.as !== undefined &&
        privilegesTakenBy(policy.privileges).has('IMPERSONATE')
      )
        this.denyHolders.add(policy.resource.as, principals.resolvePolicy(policy));
    // Principals that may impersonate others cannot be impersonated, because the engine allows chains of impersonation.
    const isTarget = (position: number): boolean =>
      !impersonators.has(position) && isTargetName(principals.subjects[position]?.name ?? '');
    this.targets = new Set(principals.resolvePrincipal({ type: 'everyone' }).filter(isTarget));
  }

  /** Users who may impersonate the user with the number `target`; null: nobody. */
  holders(target: number): Bitset | null {
    const holderSets = this.targets.has(target) ? this.grantHolders.holderSetsAt(target) : [];
    if (holderSets.length === 0) return null;
    const users = new Uint32Array(this.engine.wordCount);
    for (const set of holderSets) addAll(users, set);
    for (const set of this.denyHolders.holderSetsAt(target)) removeAll(users, set);
    return users;
  }
}

/** Users with rights over the queries of each owner, computed from grants and policies without the compiler, for the proof. */
export class ExpectedQueries {
  readonly hasOwnerEntries: boolean;
  private readonly grantsByPrivilege: ReadonlyMap<Privilege, HoldersByAffectedUser>;
  private readonly deniesByPrivilege: ReadonlyMap<Privilege, HoldersByAffectedUser>;
  private readonly deniedOnEngine = new Map<Privilege, Bitset>();

  constructor(
    { grants, policies, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly engine: Pick<EngineSets, 'wordCount' | 'spend'>,
    private readonly engineHolders: ReadonlyMap<Privilege, Bitset>,
  ) {
    this.hasOwnerEntries = [...grants, ...policies].some(({ resource }) => resource.queries !== undefined);
    const newHoldersByOwner = (): HoldersByAffectedUser =>
      new HoldersByAffectedUser(engine, (principal) => principals.resolveOwners(principal));
    this.grantsByPrivilege = new Map(QUERY_PRIVILEGES.map((privilege) => [privilege, newHoldersByOwner()]));
    this.deniesByPrivilege = new Map(QUERY_PRIVILEGES.map((privilege) => [privilege, newHoldersByOwner()]));
    for (const grant of grants) {
      const { queries } = grant.resource;
      if (queries === undefined || !isLive(grant, at)) continue;
      for (const privilege of privilegesGivenBy(grant.privileges))
        this.grantsByPrivilege.get(privilege)?.add(queries, principals.resolvePrincipal(grant.principal));
    }
    for (const policy of policies) {
      if (policy.kind !== 'deny') continue;
      const { queries, engine: isOnEngine } = policy.resource;
      if (queries === undefined && isOnEngine === undefined) continue;
      const positions = principals.resolvePolicy(policy);
      for (const privilege of privilegesTakenBy(policy.privileges)) {
        const deniedUsers = getOrInsert(this.deniedOnEngine, privilege, () => bitset(engine.wordCount, []));
        if (queries !== undefined) this.deniesByPrivilege.get(privilege)?.add(queries, positions);
        else for (const position of positions) addMember(deniedUsers, position);
      }
    }
  }

  /** Users with a right over an owner's queries. @param owners bit positions of users with the owner's name; empty for an unknown name */
  holders(privilege: Privilege, owners: readonly number[]): Bitset {
    const users = this.engineHolders.get(privilege)?.slice() ?? bitset(this.engine.wordCount, []);
    const holderSetsIn = (sets: typeof this.grantsByPrivilege) =>
      owners.flatMap((owner) => sets.get(privilege)?.holderSetsAt(owner) ?? []);
    for (const set of holderSetsIn(this.grantsByPrivilege)) addAll(users, set);
    removeAll(users, this.deniedOnEngine.get(privilege));
    for (const set of holderSetsIn(this.deniesByPrivilege)) removeAll(users, set);
    return users;
  }

  /** Users who may kill the queries of at least one owner. */
  queryKillers(): Bitset {
    const users = this.engineHolders.get('KILL_QUERIES')?.slice() ?? bitset(this.engine.wordCount, []);
    for (const owner of this.grantsByPrivilege.get('KILL_QUERIES')?.targetPositions() ?? [])
      addAll(users, this.holders('KILL_QUERIES', [owner]));
    return users;
  }
}

const QUERY_PRIVILEGES: readonly Privilege[] = ['VIEW_QUERIES', 'KILL_QUERIES'];

type RoutineRight = Pick<RoutineQuestion, 'kind' | 'privilege'>;

/** Users with rights over functions and procedures, computed from grants and policies without the compiler. */
export class ExpectedRoutines {
  /** All nodes with grants or denies of routines, and catalogs with restrictions of data. */
  readonly nodes: readonly Node[];
  private readonly grantees = new Map<string, Bitset>();
  private readonly deniedUsers = new Map<string, Bitset>();
  /** Users with a restriction of data, by catalog; under `''` for restrictions on everything. */
  private readonly restrictedUsersByCatalog = new Map<string, Bitset>();
  private readonly grantedRightKeys = new Set<string>();
  private readonly closedCatalogs: readonly (string | null | undefined)[];

  constructor(
    { grants, policies, settings, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly wordsPerSet: number,
  ) {
    this.closedCatalogs = [settings.metadataCatalog, 'system'];
    const nodes = new Map<string, Node>();
    const addUsers = (
      usersByNodeRight: Map<string, Bitset>,
      node: Node,
      rights: readonly RoutineRight[],
      resolveUsers: () => Bitset,
    ) => {
      for (const right of rights) {
        nodes.set(nodeKey(node), nodeOf(node));
        addAll(this.userSetAt(usersByNodeRight, keyOf(right, node)), resolveUsers());
      }
    };
    for (const grant of grants) {
      if (!grant.privileges.some(isRoutinePrivilege)) continue;
      const rights = rightsOf(privilegesGivenBy(grant.privileges));
      for (const right of rights) this.grantedRightKeys.add(keyOf(right, {}));
      if (isLive(grant, at))
        addUsers(this.grantees, grant.resource, rights, () =>
          bitset(wordsPerSet, principals.resolvePrincipal(grant.principal)),
        );
    }
    for (const policy of policies) {
      const resolveUsers = () => bitset(wordsPerSet, principals.resolvePolicy(policy));
      if (policy.kind === 'deny')
        addUsers(this.deniedUsers, policy.resource, rightsOf(privilegesTakenBy(policy.privileges)), resolveUsers);
      if (this.grantees.size === 0 || !restrictsData(policy)) continue;
      const { catalog } = policy.resource;
      if (catalog !== undefined) nodes.set(nodeKey({ catalog }), { catalog });
      addAll(this.userSetAt(this.restrictedUsersByCatalog, catalog ?? ''), resolveUsers());
    }
    this.nodes = [...nodes.values()];
  }

  /** Users with a right over a routine. A node that is no routine stands for the unnamed routines below it. Null: nobody. */
  holders(right: RoutineRight, node: Node): Bitset | null {
    if (!this.grantedRightKeys.has(keyOf(right, {})) || this.closedCatalogs.includes(node.catalog)) return null;
    const users = new Uint32Array(this.wordsPerSet);
    const excludedUsers = new Uint32Array(this.wordsPerSet);
    for (const pathNode of pathTo(node)) {
      addAll(users, this.grantees.get(keyOf(right, pathNode)));
      addAll(excludedUsers, this.deniedUsers.get(keyOf(right, pathNode)));
    }
    for (const catalog of ['', node.catalog ?? '']) addAll(excludedUsers, this.restrictedUsersByCatalog.get(catalog));
    removeAll(users, excludedUsers);
    return users;
  }

  /** Users who may `CALL system.runtime.kill_query`. @param killers users with KILL_QUERIES, which also gives this right */
  killQueryCallers(killers: Bitset): Bitset {
    const key = keyOf(CALL_RIGHT, KILL_QUERY);
    const users = new Uint32Array(this.wordsPerSet);
    for (const holders of [this.grantees.get(key), killers]) addAll(users, holders);
    removeAll(users, this.deniedUsers.get(key));
    return users;
  }

  /** Users who may run at least one routine in a catalog. Tests the catalog and its nodes with grants or denies, because rights change only there. */
  usersWithRoutines(catalog: string): Bitset {
    const users = new Uint32Array(this.wordsPerSet);
    const catalogNodes = this.nodes.filter((node) => node.catalog === catalog);
    for (const node of [{ catalog }, ...catalogNodes])
      for (const right of RUN_RIGHTS) addAll(users, this.holders(right, node));
    return users;
  }

  private userSetAt(usersByNodeRight: Map<string, Bitset>, key: string): Bitset {
    return getOrInsert(usersByNodeRight, key, () => new Uint32Array(this.wordsPerSet));
  }
}

const CALL_RIGHT: RoutineRight = { kind: 'procedure', privilege: 'EXECUTE' };
const RUN_RIGHTS: readonly RoutineRight[] = [{ kind: 'function', privilege: 'EXECUTE' }, CALL_RIGHT];

function rightsOf(privileges: Iterable<Privilege>): RoutineRight[] {
  return [...privileges].flatMap((privilege) => PRIVILEGE_TERMS[privilege].routineRight ?? []);
}

function keyOf({ kind, privilege }: RoutineRight, node: Node): string {
  return `${kind} ${privilege} ${nodeKey(node)}`;
}
