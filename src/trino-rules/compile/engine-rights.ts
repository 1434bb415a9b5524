import type {
  ProcedureRule,
  QueryRight,
  QueryRule,
  SystemInformationRule,
  ImpersonationRule,
} from '../document/rules-document.js';
import type { Node } from '../model/node.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Bitset } from './bitset.js';
import { hasEffect, isKillQuery, SYSTEM, isReplacementSafe } from './engine-terms.js';
import { patternOfNames } from './name-pattern.js';
import { type PrincipalIndex, namesExistingPrincipal } from './principal-index.js';
import { getOrInsert } from './get-or-insert.js';
import type { PolicyPrincipal } from '../model/principal.js';

/** Users with rights over the engine itself. Service accounts are never among these users. */
export interface EngineRights {
  /** Users who may execute queries by a grant of EXECUTE_QUERIES. Users with any other access need no such grant. */
  executors: Bitset;
  viewers: Bitset;
  killers: Bitset;
  rightsByOwner: QueryRightsByOwner[];
  /** Users who may `CALL system.runtime.kill_query`, by KILL_QUERIES or by a grant of the procedure. */
  killQueryCallers: Bitset;
  informationReaders: Bitset;
  informationWriters: Bitset;
}

/** The rights over the engine that grants give and denies do not take away. */
export function engineRights(snapshot: Snapshot, principals: PrincipalIndex): EngineRights {
  const { grants, policies, at } = snapshot;
  const deniedUsers = (privilege: Privilege, isRelevantNode = isOnEngine): Bitset =>
    policies
      .filter((each) => each.kind === 'deny' && isRelevantNode(each.resource) && each.privileges.includes(privilege))
      .reduce((all, policy) => all.or(principals.resolvePolicy(policy)), principals.emptySet);
  const holders = (privilege: Privilege, isRelevantNode = isOnEngine, initialHolders = principals.emptySet): Bitset =>
    grants
      .filter((grant) => isRelevantNode(grant.resource) && grant.privileges.includes(privilege) && hasEffect(grant, at))
      .reduce((all, { principal }) => all.or(principals.resolvePrincipal(principal)), initialHolders)
      .minus(deniedUsers(privilege, isRelevantNode));
  const viewers = holders('VIEW_QUERIES');
  const killers = holders('KILL_QUERIES');
  const deniedOnEngine = { view: deniedUsers('VIEW_QUERIES'), kill: deniedUsers('KILL_QUERIES') };
  const rightsByOwner = queryRightsByOwner(snapshot, principals, { view: viewers, kill: killers }, deniedOnEngine);
  const ownerKillers = rightsByOwner
    .filter(({ allow }) => allow.includes('kill'))
    .reduce((all, { holders }) => all.or(holders), killers);
  return {
    ...{ executors: holders('EXECUTE_QUERIES'), viewers, killers, rightsByOwner },
    killQueryCallers: holders('CALL_PROCEDURE', isKillQuery, ownerKillers),
    informationReaders: holders('READ_SYSTEM_INFORMATION'),
    informationWriters: holders('WRITE_SYSTEM_INFORMATION'),
  };
}

function isOnEngine({ engine }: Node): boolean {
  return engine === true;
}

/** Rules about queries. Each user has all rights in one rule, because only the first matching rule decides. */
export function queryRules(
  executors: Bitset,
  { viewers, killers, rightsByOwner }: EngineRights,
  principals: PrincipalIndex,
): QueryRule[] {
  const generalRules = rulesOf<QueryRight>({ execute: executors, view: viewers, kill: killers }, principals);
  return [...rulesByOwner(rightsByOwner, principals), ...generalRules];
}

export function systemInformationRules(
  { informationReaders, informationWriters }: EngineRights,
  principals: PrincipalIndex,
): SystemInformationRule[] {
  return rulesOf({ read: informationReaders, write: informationWriters }, principals);
}

/** Rules for `CALL system.runtime.kill_query`. The engine requires the right to call it and the right to kill the query (seen on 483). */
export function killProcedureRules({ killQueryCallers }: EngineRights, { namesOf }: PrincipalIndex): ProcedureRule[] {
  if (killQueryCallers.isEmpty()) return [];
  const procedurePatterns = { catalog: SYSTEM, schema: 'runtime', procedure: 'kill_query' };
  return [{ user: patternOfNames(namesOf(killQueryCallers)), ...procedurePatterns, privileges: ['EXECUTE'] }];
}

function rulesOf<Right extends string>(
  holders: Readonly<Record<Right, Bitset>>,
  { namesOf }: PrincipalIndex,
): { user: string; allow: Right[] }[] {
  let ruleGroups: { allow: Right[]; users: Bitset }[] = [];
  for (const [right, rightHolders] of Object.entries(holders) as [Right, Bitset][]) {
    const ungroupedUsers = ruleGroups.reduce((remainingUsers, { users }) => remainingUsers.minus(users), rightHolders);
    const splitGroups = ruleGroups.flatMap(({ allow, users }) => [
      { allow: [...allow, right], users: users.and(rightHolders) },
      { allow, users: users.minus(rightHolders) },
    ]);
    ruleGroups = [...splitGroups, { allow: [right], users: ungroupedUsers }];
  }
  return ruleGroups
    .filter(({ users }) => !users.isEmpty())
    .map(({ allow, users }) => ({ user: patternOfNames(namesOf(users)), allow }));
}

interface QueryRightsByOwner {
  holders: Bitset;
  owners: Bitset;
  allow: QueryRight[];
}

const OWNER_RIGHTS = [
  ['view', 'VIEW_QUERIES'],
  ['kill', 'KILL_QUERIES'],
] as const satisfies readonly (readonly [QueryRight, Privilege])[];

interface OwnerRightEntries {
  right: QueryRight;
  grants: readonly HoldersByOwner[];
  denies: readonly HoldersByOwner[];
  holdersOfAll: Bitset;
  deniedOnEngine: Bitset;
}

type HoldersByOwner = Omit<QueryRightsByOwner, 'allow'>;

/**
 * Rights over the queries of single owners, for users whose rights differ from owner to owner. All rights of a user over the queries of an
 * owner are in one rule, because only the first matching rule decides.
 */
function queryRightsByOwner(
  { grants, policies, at }: Snapshot,
  principals: PrincipalIndex,
  holdersOfAll: Record<'view' | 'kill', Bitset>,
  deniedOnEngine: Record<'view' | 'kill', Bitset>,
): QueryRightsByOwner[] {
  const { emptySet, setOf } = principals;
  const entries = OWNER_RIGHTS.map(([right, privilege]): OwnerRightEntries => ({
    right,
    grants: grants.flatMap((grant) => {
      const { queries } = grant.resource;
      const isRelevant = queries !== undefined && grant.privileges.includes(privilege) && hasEffect(grant, at);
      if (!isRelevant) return [];
      return [{ holders: principals.resolvePrincipal(grant.principal), owners: principals.resolveOwners(queries) }];
    }),
    denies: policies.flatMap((policy) => {
      const { queries } = policy.resource;
      if (queries === undefined || policy.kind !== 'deny' || !policy.privileges.includes(privilege)) return [];
      return [{ holders: principals.resolvePolicy(policy), owners: principals.resolveOwners(queries) }];
    }),
    holdersOfAll: holdersOfAll[right],
    deniedOnEngine: deniedOnEngine[right],
  }));
  const ownerEntries = entries.flatMap(({ grants, denies }) => [...grants, ...denies]);
  const rightsByKey = new Map<string, Omit<QueryRightsByOwner, 'holders'> & { positions: number[] }>();
  for (const user of ownerEntries.reduce((all, { holders }) => all.or(holders), emptySet).members()) {
    for (const rightSet of exceptionalRightsOf(user, entries, emptySet)) {
      const key = `${rightSet.allow.join()} ${rightSet.owners.key()}`;
      getOrInsert(rightsByKey, key, () => ({ ...rightSet, positions: [] })).positions.push(user);
    }
  }
  return [...rightsByKey.values()].map(({ positions, ...rightSet }) => ({ ...rightSet, holders: setOf(positions) }));
}

/** A user's rights over the queries of certain owners, where these rights differ from those over all queries. */
function exceptionalRightsOf(
  user: number,
  entries: readonly OwnerRightEntries[],
  emptySet: Bitset,
): Omit<QueryRightsByOwner, 'holders'>[] {
  const ownersIn = (entries: readonly HoldersByOwner[]): Bitset =>
    entries.filter(({ holders }) => holders.has(user)).reduce((all, { owners }) => all.or(owners), emptySet);
  const rights = entries.map(({ right, grants, denies, holdersOfAll, deniedOnEngine }) => {
    const hasRightOverAll = holdersOfAll.has(user);
    const [grantedOwners, deniedOwners] = [deniedOnEngine.has(user) ? emptySet : ownersIn(grants), ownersIn(denies)];
    return { right, hasRightOverAll, exceptions: hasRightOverAll ? deniedOwners : grantedOwners.minus(deniedOwners) };
  });
  const usualRights = rights.filter(({ hasRightOverAll }) => hasRightOverAll).map(({ right }) => right);
  const ownersWithExceptions = rights.reduce((all, { exceptions }) => all.or(exceptions), emptySet);
  const rightsOfOwnerSets = [{ owners: ownersWithExceptions, allow: usualRights }];
  for (const { right, exceptions } of rights)
    for (const rightSet of rightsOfOwnerSets.splice(0)) {
      const rightsOfExceptions = OWNER_RIGHTS.map(([each]) => each).filter(
        (each) => rightSet.allow.includes(each) !== (each === right),
      );
      rightsOfOwnerSets.push({ owners: rightSet.owners.and(exceptions), allow: rightsOfExceptions });
      rightsOfOwnerSets.push({ ...rightSet, owners: rightSet.owners.minus(exceptions) });
    }
  return rightsOfOwnerSets.filter(({ owners, allow }) => !owners.isEmpty() && allow.join() !== usualRights.join());
}

function rulesByOwner(rights: readonly QueryRightsByOwner[], { namesOf }: PrincipalIndex): QueryRule[] {
  return rights.map(({ holders, owners, allow }) => ({
    user: patternOfNames(namesOf(holders)),
    queryOwner: patternOfNames(namesOf(owners)),
    allow,
  }));
}

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
