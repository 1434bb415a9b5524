import type { EngineSets } from '../engine/engine-sets.js';
import { addAll, type Bitset, removeAll } from '../engine/sparse-bitset.js';
import { canBeImpersonated } from '../model/acting.js';
import { taken, withContained } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';
import { UsersByNamed } from './users-by-named.js';

/** Users who act as others by the grants: worked out by the proof, from the raw grants. */
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
      if (policy.kind === 'deny' && policy.resource.as !== undefined && taken(policy.privileges).has('IMPERSONATE'))
        this.denied.add(policy.resource.as, principals.resolvePolicy(policy));
    // A chain of two would lead to whomever the second acts as.
    const others = principals.resolvePrincipal({ type: 'everyone' }).filter((position) => !actors.has(position));
    this.targets = new Set(others.filter((position) => canBeImpersonated(principals.subjects[position]?.name ?? '')));
  }

  /** Those who act as the user at a position. Null: nobody. */
  holders(target: number): Bitset | null {
    const given = this.targets.has(target) ? this.given.at(target) : [];
    if (given.length === 0) return null;
    const users = new Uint32Array(this.engine.width);
    for (const set of given) addAll(users, set);
    for (const set of this.denied.at(target)) removeAll(users, set);
    return users;
  }
}
