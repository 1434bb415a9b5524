import type { ImpersonationRule } from '../document/rules-document.js';
import type { PolicyPrincipal } from '../model/principal.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Bitset } from './bitset.js';
import { hasEffect, isReplacementSafe } from './engine-terms.js';
import { getOrInsert } from './get-or-insert.js';
import { patternOfNames } from './name-pattern.js';
import { namesExistingPrincipal, type PrincipalIndex } from './principal-index.js';

export interface Impersonation {
  /** Sets of actors (who may impersonate) that have the same targets (who may be impersonated). */
  actorSets: { actors: Bitset; targets: Bitset }[];
  unwritableTargets: Bitset;
  /** Ids of grants without effect, because nobody whom they name can be impersonated. */
  idleGrantIds: number[];
}

/** The principals that a grant or a deny concerns: actors (who impersonate) and targets (who are impersonated). */
interface ActorsAndTargets {
  actors: Bitset;
  targets: Bitset;
}

/** Rules about impersonation. No target may impersonate others, because the engine would allow a chain (seen on 483) that no grant gives. */
export function impersonationOf(snapshot: Snapshot, principals: PrincipalIndex): Impersonation {
  const { emptySet, subjects, setOf } = principals;
  const membersOf = (principal: PolicyPrincipal): Bitset => principals.resolvePrincipal(principal);
  const grantEntries = snapshot.grants.flatMap((grant) => {
    const { id, principal, resource } = grant;
    if (resource.as === undefined || principal.type !== 'engine') return [];
    const isEffective = hasEffect(grant, snapshot.at) && namesExistingPrincipal(grant, snapshot);
    return isEffective ? [{ id, actors: membersOf(principal), targets: membersOf(resource.as) }] : [];
  });
  if (grantEntries.length === 0) return { actorSets: [], unwritableTargets: emptySet, idleGrantIds: [] };
  const actors = grantEntries.reduce((all, grant) => all.or(grant.actors), emptySet);
  const possibleTargets = membersOf({ type: 'everyone' }).minus(actors);
  const writablePositions = possibleTargets
    .members()
    .filter((position) => isReplacementSafe(subjects[position]?.name ?? ''));
  const writableTargets = setOf(writablePositions);
  const denyEntries = snapshot.policies.flatMap((policy) =>
    policy.kind === 'deny' && policy.resource.as !== undefined && policy.privileges.includes('IMPERSONATE')
      ? [{ actors: principals.resolvePolicy(policy), targets: membersOf(policy.resource.as) }]
      : [],
  );
  const [grantsByActors, deniesByActors] = [mergeByActors(grantEntries), mergeByActors(denyEntries)];
  const targetsIn = (rows: readonly ActorsAndTargets[], actor: number): Bitset =>
    rows.filter((row) => row.actors.has(actor)).reduce((all, { targets }) => all.or(targets), emptySet);
  const groupsByTargets = new Map<string, { positions: number[]; targets: Bitset }>();
  let unwritableTargets = emptySet;
  for (const actor of actors.members()) {
    const actorTargets = targetsIn(grantsByActors, actor).and(possibleTargets).minus(targetsIn(deniesByActors, actor));
    unwritableTargets = unwritableTargets.or(actorTargets.minus(writableTargets));
    const targets = actorTargets.and(writableTargets);
    if (!targets.isEmpty())
      getOrInsert(groupsByTargets, targets.key(), () => ({ positions: [], targets })).positions.push(actor);
  }
  return {
    actorSets: [...groupsByTargets.values()].map(({ positions, ...group }) => ({ ...group, actors: setOf(positions) })),
    unwritableTargets,
    idleGrantIds: grantEntries.filter(({ targets }) => !targets.intersects(writableTargets)).map(({ id }) => id),
  };
}

/** Merges rows with the same actors (who impersonate), because many grants and denies have the same few actors. */
function mergeByActors(rows: readonly ActorsAndTargets[]): ActorsAndTargets[] {
  const mergedByActors = new Map<string, ActorsAndTargets>();
  for (const { actors, targets } of rows) {
    const earlierRow = mergedByActors.get(actors.key());
    mergedByActors.set(actors.key(), { actors, targets: earlierRow?.targets.or(targets) ?? targets });
  }
  return [...mergedByActors.values()];
}

export function impersonationRules({ actorSets }: Impersonation, { namesOf }: PrincipalIndex): ImpersonationRule[] {
  return actorSets.map(({ actors, targets }) => ({
    original_user: patternOfNames(namesOf(actors)),
    new_user: patternOfNames(namesOf(targets)),
    allow: true,
  }));
}
