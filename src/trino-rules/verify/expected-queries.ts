import { getOrInsert } from '../../kernel/collections.js';
import type { EngineSets } from '../engine/engine-sets.js';
import { addAll, bitset, removeAll, type Bitset } from '../engine/sparse-bitset.js';
import { type Privilege, taken, withContained } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';
import { UsersByNamed } from './users-by-named.js';

/**
 * Users with rights over the queries of some by the grants, beside those who have them over all: worked out by the proof, owner by
 * owner, from the raw grants.
 */
export class ExpectedQueries {
  /** Whether any grant or policy is about the queries of some. */
  readonly isByOwner: boolean;
  private readonly given: ReadonlyMap<Privilege, UsersByNamed>;
  private readonly denied: ReadonlyMap<Privilege, UsersByNamed>;
  /** By a deny on the engine: those to whom nothing is left. */
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
    if (!this.isByOwner) return;
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
      for (const privilege of taken(policy.privileges)) {
        if (queries !== undefined) this.denied.get(privilege)?.add(queries, positions);
        else
          addAll(
            getOrInsert(this.closed, privilege, () => bitset(engine.width, [])),
            bitset(engine.width, positions),
          );
      }
    }
  }

  /** Null: no user. @param owners positions of the users of one name; none: of a name that nothing knows */
  holders(privilege: Privilege, owners: readonly number[]): Bitset | null {
    const overAll = this.onEngine.get(privilege);
    if (!this.isByOwner) return overAll ?? null;
    const users = overAll?.slice() ?? bitset(this.engine.width, []);
    const of = (sets: typeof this.given) => owners.flatMap((owner) => sets.get(privilege)?.at(owner) ?? []);
    for (const set of of(this.given)) addAll(users, set);
    removeAll(users, this.closed.get(privilege));
    for (const set of of(this.denied)) removeAll(users, set);
    return users;
  }

  /** Users who may kill anybody's queries, their own grants' owners included; null: no user. */
  killing(): Bitset | null {
    const overAll = this.onEngine.get('KILL_QUERIES') ?? null;
    if (!this.isByOwner) return overAll;
    const users = overAll?.slice() ?? bitset(this.engine.width, []);
    for (const owner of this.given.get('KILL_QUERIES')?.positions() ?? [])
      addAll(users, this.holders('KILL_QUERIES', [owner]) ?? undefined);
    return users;
  }
}

const OVER_QUERIES: readonly Privilege[] = ['VIEW_QUERIES', 'KILL_QUERIES'];
