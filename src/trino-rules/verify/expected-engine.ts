import { getOrInsert } from '../../kernel/collections.js';
import { addAll, addMember, bitset, type Bitset, removeAll } from '../engine/sparse-bitset.js';
import { type Privilege, withTaken, withContained } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import { type EntrySource, InternedAccess } from './access-entries.js';
import type { PrincipalIndex } from './principal-index.js';
import type { EngineSets } from '../engine/engine-sets.js';
import { type PolicyPrincipal, principalText } from '../model/principal.js';
import { canBeImpersonated } from '../model/named-others.js';

/** Users by privilege on the engine itself, according to the grants. A privilege that nobody has is left out. */
export function expectedOnEngine(
  { grants, policies, at }: Snapshot,
  principals: PrincipalIndex,
  width: number,
): ReadonlyMap<Privilege, Bitset> {
  const nothing = new InternedAccess();
  const byPosition = new Map<number, InternedAccess>();
  const add = (source: EntrySource, members: readonly number[]): void => {
    for (const position of members) byPosition.set(position, (byPosition.get(position) ?? nothing).withSource(source));
  };
  for (const grant of grants)
    if (grant.resource.engine === true && isLive(grant, at))
      add({ gives: grant.privileges }, principals.resolvePrincipal(grant.principal));
  for (const policy of policies) if (policy.resource.engine === true) add({ policy }, principals.resolvePolicy(policy));
  const holders = new Map<Privilege, number[]>();
  for (const [position, { access }] of byPosition)
    for (const privilege of access.privileges) getOrInsert(holders, privilege, () => []).push(position);
  return new Map([...holders].map(([privilege, positions]) => [privilege, bitset(width, positions)]));
}

const STEPS_PER_MEMBER = 10;

/** Holders of grants or denies, by the users whom these are about. Entries about the same principal share a set. */
export class UsersByNamed {
  private readonly byPrincipal = new Map<string, Bitset>();
  private readonly byPosition = new Map<number, Bitset[]>();

  /** @param resolve positions of the members of a principal */
  constructor(
    private readonly engine: EngineSets,
    private readonly resolve: (named: PolicyPrincipal) => Iterable<number>,
  ) {}

  add(named: PolicyPrincipal, users: readonly number[]): void {
    const set = getOrInsert(this.byPrincipal, principalText(named), () => this.setFor(named));
    this.engine.spend(users.length);
    for (const user of users) addMember(set, user);
  }

  positions(): Iterable<number> {
    return this.byPosition.keys();
  }

  /** The sets of holders over the user at a position. */
  at(position: number): readonly Bitset[] {
    const sets = this.byPosition.get(position) ?? [];
    this.engine.spend(sets.length * this.engine.width);
    return sets;
  }

  private setFor(named: PolicyPrincipal): Bitset {
    const set = new Uint32Array(this.engine.width);
    for (const position of this.resolve(named)) {
      this.engine.spend(STEPS_PER_MEMBER);
      getOrInsert(this.byPosition, position, () => []).push(set);
    }
    return set;
  }
}

/** Users who may impersonate others, computed by the proof from the raw grants. */
export class ExpectedActing {
  private readonly given: UsersByNamed;
  private readonly denied: UsersByNamed;
  private readonly targets: ReadonlySet<number>;

  constructor(
    { grants, policies, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly engine: EngineSets,
  ) {
    const byTarget = (): UsersByNamed => new UsersByNamed(engine, (named) => principals.resolvePrincipal(named));
    this.given = byTarget();
    this.denied = byTarget();
    const actors = new Set<number>();
    for (const grant of grants) {
      const { principal, resource, privileges } = grant;
      if (resource.as === undefined || principal.type !== 'engine' || !principals.exists(resource.as)) continue;
      if (!isLive(grant, at) || !withContained(privileges).has('IMPERSONATE')) continue;
      const holders = principals.resolvePrincipal(principal);
      for (const holder of holders) actors.add(holder);
      this.given.add(resource.as, holders);
    }
    for (const policy of policies)
      if (policy.kind === 'deny' && policy.resource.as !== undefined && withTaken(policy.privileges).has('IMPERSONATE'))
        this.denied.add(policy.resource.as, principals.resolvePolicy(policy));
    // The engine follows chains, so an actor is never a target.
    const others = principals.resolvePrincipal({ type: 'everyone' }).filter((position) => !actors.has(position));
    this.targets = new Set(others.filter((position) => canBeImpersonated(principals.subjects[position]?.name ?? '')));
  }

  /** Users who may impersonate the one at a position; null: none. */
  holders(target: number): Bitset | null {
    const given = this.targets.has(target) ? this.given.at(target) : [];
    if (given.length === 0) return null;
    const users = new Uint32Array(this.engine.width);
    for (const set of given) addAll(users, set);
    for (const set of this.denied.at(target)) removeAll(users, set);
    return users;
  }
}

/** Users with rights over queries, computed by the proof for each owner from the raw grants. */
export class ExpectedQueries {
  /** Whether any grant or policy is about the queries of some owners. */
  readonly isByOwner: boolean;
  private readonly given: ReadonlyMap<Privilege, UsersByNamed>;
  private readonly denied: ReadonlyMap<Privilege, UsersByNamed>;
  /** Users with a deny on the engine. */
  private readonly closed = new Map<Privilege, Bitset>();

  constructor(
    { grants, policies, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly engine: EngineSets,
    private readonly onEngine: ReadonlyMap<Privilege, Bitset>,
  ) {
    this.isByOwner = [...grants, ...policies].some(({ resource }) => resource.queries !== undefined);
    const byOwner = (): UsersByNamed => new UsersByNamed(engine, (named) => principals.resolveOwners(named));
    this.given = new Map(OVER_QUERIES.map((privilege) => [privilege, byOwner()]));
    this.denied = new Map(OVER_QUERIES.map((privilege) => [privilege, byOwner()]));
    for (const grant of grants) {
      const { queries } = grant.resource;
      if (queries === undefined || !isLive(grant, at)) continue;
      for (const privilege of withContained(grant.privileges))
        this.given.get(privilege)?.add(queries, principals.resolvePrincipal(grant.principal));
    }
    for (const policy of policies) {
      if (policy.kind !== 'deny') continue;
      const { queries, engine: isOnEngine } = policy.resource;
      if (queries === undefined && isOnEngine === undefined) continue;
      const positions = principals.resolvePolicy(policy);
      for (const privilege of withTaken(policy.privileges)) {
        const closed = getOrInsert(this.closed, privilege, () => bitset(engine.width, []));
        if (queries !== undefined) this.denied.get(privilege)?.add(queries, positions);
        else for (const position of positions) addMember(closed, position);
      }
    }
  }

  /** @param owners positions of the users of one name; empty for an unknown name */
  holders(privilege: Privilege, owners: readonly number[]): Bitset {
    const users = this.onEngine.get(privilege)?.slice() ?? bitset(this.engine.width, []);
    const of = (sets: typeof this.given) => owners.flatMap((owner) => sets.get(privilege)?.at(owner) ?? []);
    for (const set of of(this.given)) addAll(users, set);
    removeAll(users, this.closed.get(privilege));
    for (const set of of(this.denied)) removeAll(users, set);
    return users;
  }

  /** Users who may kill the queries of all or of any owner. */
  killing(): Bitset {
    const users = this.onEngine.get('KILL_QUERIES')?.slice() ?? bitset(this.engine.width, []);
    for (const owner of this.given.get('KILL_QUERIES')?.positions() ?? [])
      addAll(users, this.holders('KILL_QUERIES', [owner]));
    return users;
  }
}

const OVER_QUERIES: readonly Privilege[] = ['VIEW_QUERIES', 'KILL_QUERIES'];
