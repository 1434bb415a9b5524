import { getOrInsert } from '../../kernel/get-or-insert.js';
import { addAll, bitset, wordAt, type Bitset } from '../engine/sparse-bitset.js';
import { type Privilege, taken, withContained } from '../model/privilege.js';
import { isLive, type Snapshot } from '../model/snapshot.js';
import type { PrincipalIndex } from './principal-index.js';

/**
 * Users with rights over the queries of some by the grants, beside those who have them over all: worked out by the proof, owner by
 * owner, from the raw grants.
 */
export class ExpectedQueries {
  /** Whether any grant or policy is about the queries of some. */
  readonly isByOwner: boolean;
  /** By privilege and the owner's position. */
  private readonly given = new Map<Privilege, Map<number, Bitset>>();
  private readonly denied = new Map<Privilege, Map<number, Bitset>>();
  /** By a deny on the engine: those to whom nothing is left. */
  private readonly closed = new Map<Privilege, Bitset>();

  constructor(
    { grants, policies, at }: Snapshot,
    principals: PrincipalIndex,
    private readonly width: number,
    private readonly onEngine: ReadonlyMap<Privilege, Bitset>,
  ) {
    this.isByOwner = [...grants, ...policies].some(({ resource }) => resource.queries !== undefined);
    if (!this.isByOwner) return;
    for (const grant of grants) {
      const { queries } = grant.resource;
      if (queries === undefined || !isLive(grant, at)) continue;
      const users = bitset(width, principals.resolvePrincipal(grant.principal));
      const privileges = withContained(grant.privileges);
      note(this.given, privileges, principals.resolveOwners(queries), users);
    }
    for (const policy of policies) {
      if (policy.kind !== 'deny') continue;
      const { queries, engine } = policy.resource;
      if (queries === undefined && engine === undefined) continue;
      const users = bitset(width, principals.resolvePolicy(policy));
      const privileges = taken(policy.privileges);
      if (queries !== undefined) note(this.denied, privileges, principals.resolveOwners(queries), users);
      else
        for (const privilege of privileges)
          addAll(
            getOrInsert(this.closed, privilege, () => bitset(width, [])),
            users,
          );
    }
  }

  /** Null: no user. @param owners positions of the users of one name; none: of a name that nothing knows */
  holders(privilege: Privilege, owners: readonly number[]): Bitset | null {
    const overAll = this.onEngine.get(privilege);
    if (!this.isByOwner) return overAll ?? null;
    const users = overAll?.slice() ?? bitset(this.width, []);
    for (const owner of owners) addAll(users, this.given.get(privilege)?.get(owner));
    const gone = [this.closed.get(privilege), ...owners.map((owner) => this.denied.get(privilege)?.get(owner))];
    for (const those of gone)
      if (those !== undefined) users.forEach((word, index) => (users[index] = word & ~wordAt(those, index)));
    return users;
  }

  /** Users who may kill anybody's queries, their own grants' owners included; null: no user. */
  killing(): Bitset | null {
    const overAll = this.onEngine.get('KILL_QUERIES') ?? null;
    if (!this.isByOwner) return overAll;
    const users = overAll?.slice() ?? bitset(this.width, []);
    for (const owner of this.given.get('KILL_QUERIES')?.keys() ?? [])
      addAll(users, this.holders('KILL_QUERIES', [owner]) ?? undefined);
    return users;
  }
}

function note(
  into: Map<Privilege, Map<number, Bitset>>,
  privileges: ReadonlySet<Privilege>,
  owners: Iterable<number>,
  users: Bitset,
): void {
  for (const privilege of privileges) {
    const byOwner = getOrInsert(into, privilege, () => new Map<number, Bitset>());
    for (const owner of owners)
      addAll(
        getOrInsert(byOwner, owner, () => new Uint32Array(users.length)),
        users,
      );
  }
}
