import type { ImpersonationRule } from '../document/rules-document.js';
import type { PolicyPrincipal } from '../model/principal.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Bitset } from './bitset.js';
import { hasEffect, isReplacementSafe } from './engine-terms.js';
import { getOrInsert } from './get-or-insert.js';
import { anyOf } from './name-pattern.js';
import { namesExistingPrincipal, type PrincipalIndex } from './principal-index.js';

/** The engine principals that may impersonate others, and their targets. */
export interface Acting {
  /** Actors with the same targets. */
  groups: { actors: Bitset; targets: Bitset }[];
  /** Targets whose names cannot be written in a rule. */
  unwritable: Bitset;
  /** Ids of grants without any possible target. */
  idle: number[];
}

/** Actors and targets of a grant or a deny. */
interface Named {
  actors: Bitset;
  targets: Bitset;
}

/** Grants less denies. An actor is never a target, even if a deny takes its grants: the engine follows chains (seen on 483). */
export function acting(snapshot: Snapshot, principals: PrincipalIndex): Acting {
  const { none, subjects } = principals;
  const resolve = (named: PolicyPrincipal): Bitset => principals.resolvePrincipal(named);
  const given = snapshot.grants.flatMap((grant) => {
    const { id, principal, resource } = grant;
    if (resource.as === undefined || principal.type !== 'engine') return [];
    const isHeld = hasEffect(grant, snapshot.at) && namesExistingPrincipal(grant, snapshot);
    return isHeld ? [{ id, actors: resolve(principal), targets: resolve(resource.as) }] : [];
  });
  if (given.length === 0) return { groups: [], unwritable: none, idle: [] };
  const actors = given.reduce((all, grant) => all.or(grant.actors), none);
  const others = resolve({ type: 'everyone' }).minus(actors);
  const writable = others.members().filter((position) => isReplacementSafe(subjects[position]?.name ?? ''));
  const open = principals.setOf(writable);
  const denies = snapshot.policies.flatMap((policy) =>
    policy.kind === 'deny' && policy.resource.as !== undefined && policy.privileges.includes('IMPERSONATE')
      ? [{ actors: principals.resolvePolicy(policy), targets: resolve(policy.resource.as) }]
      : [],
  );
  const [givenTo, deniedTo] = [byActors(given), byActors(denies)];
  const named = (rows: readonly Named[], actor: number): Bitset =>
    rows.filter((row) => row.actors.has(actor)).reduce((all, { targets }) => all.or(targets), none);
  const byTargets = new Map<string, { positions: number[]; targets: Bitset }>();
  let unwritable = none;
  for (const actor of actors.members()) {
    const theirs = named(givenTo, actor).and(others).minus(named(deniedTo, actor));
    unwritable = unwritable.or(theirs.minus(open));
    const targets = theirs.and(open);
    if (!targets.isEmpty())
      getOrInsert(byTargets, targets.key(), () => ({ positions: [], targets })).positions.push(actor);
  }
  return {
    groups: [...byTargets.values()].map(({ positions, targets }) => ({ actors: principals.setOf(positions), targets })),
    unwritable,
    idle: given.filter(({ targets }) => !targets.intersects(open)).map(({ id }) => id),
  };
}

/** Merges entries with the same actors: many grants and denies have few different ones. */
function byActors(rows: readonly Named[]): Named[] {
  const merged = new Map<string, Named>();
  for (const { actors, targets } of rows) {
    const same = merged.get(actors.key());
    merged.set(actors.key(), { actors, targets: same?.targets.or(targets) ?? targets });
  }
  return [...merged.values()];
}

export function actingRules({ groups }: Acting, { namesOf }: PrincipalIndex): ImpersonationRule[] {
  return groups.map(({ actors, targets }) => ({
    original_user: anyOf(namesOf(actors)),
    new_user: anyOf(namesOf(targets)),
    allow: true,
  }));
}
