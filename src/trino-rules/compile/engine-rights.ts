import type { ProcedureRule, QueryRight, QueryRule, SystemInformationRule } from '../document/rules-document.js';
import type { Node } from '../model/node.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Bitset } from './bitset.js';
import { hasEffect, isKillQuery, SYSTEM } from './engine-terms.js';
import { anyOf } from './name-pattern.js';
import type { PrincipalIndex } from './principal-index.js';
import { queriesOfSome, type QueriesOfSome, rulesOfSome } from './query-rules.js';

/** Users with each right over the engine itself; service accounts have none. */
export interface EngineRights {
  /** Users who may execute queries whether they reach something or not. */
  execute: Bitset;
  view: Bitset;
  kill: Bitset;
  ofSome: QueriesOfSome[];
  /** `CALL system.runtime.kill_query`: it comes with the right to kill, can be given without it, and denied. */
  callKill: Bitset;
  read: Bitset;
  write: Bitset;
}

/** What is granted on the engine, less what is denied there. */
export function engineRights(snapshot: Snapshot, principals: PrincipalIndex): EngineRights {
  const { grants, policies, at } = snapshot;
  const denied = (privilege: Privilege, isThere = isOnEngine): Bitset =>
    policies
      .filter((each) => each.kind === 'deny' && isThere(each.resource) && each.privileges.includes(privilege))
      .reduce((all, policy) => all.or(principals.resolvePolicy(policy)), principals.none);
  const holders = (privilege: Privilege, isThere = isOnEngine, others = principals.none): Bitset =>
    grants
      .filter((grant) => isThere(grant.resource) && grant.privileges.includes(privilege) && hasEffect(grant, at))
      .reduce((all, { principal }) => all.or(principals.resolvePrincipal(principal)), others)
      .minus(denied(privilege, isThere));
  const view = holders('VIEW_QUERIES');
  const kill = holders('KILL_QUERIES');
  const closed = { view: denied('VIEW_QUERIES'), kill: denied('KILL_QUERIES') };
  const ofSome = queriesOfSome(snapshot, principals, { view, kill }, closed);
  const killing = ofSome
    .filter(({ allow }) => allow.includes('kill'))
    .reduce((all, { holders }) => all.or(holders), kill);
  return {
    ...{ execute: holders('EXECUTE_QUERIES'), view, kill, ofSome },
    callKill: holders('CALL_PROCEDURE', isKillQuery, killing),
    read: holders('READ_SYSTEM_INFORMATION'),
    write: holders('WRITE_SYSTEM_INFORMATION'),
  };
}

function isOnEngine({ engine }: Node): boolean {
  return engine === true;
}

/** All that one user may do with queries stands in one rule, because the first that matches decides. */
export function queryRules(
  executing: Bitset,
  { view, kill, ofSome }: EngineRights,
  principals: PrincipalIndex,
): QueryRule[] {
  const ofAll = rulesOf<QueryRight>(
    [
      ['execute', executing],
      ['view', view],
      ['kill', kill],
    ],
    principals,
  );
  return [...rulesOfSome(ofSome, principals), ...ofAll];
}

export function systemInformationRules(
  { read, write }: EngineRights,
  principals: PrincipalIndex,
): SystemInformationRule[] {
  return rulesOf(
    [
      ['read', read],
      ['write', write],
    ],
    principals,
  );
}

/** `CALL system.runtime.kill_query` needs the procedure besides the right (seen on 483). */
export function killingRules({ callKill }: EngineRights, { namesOf }: PrincipalIndex): ProcedureRule[] {
  if (callKill.isEmpty()) return [];
  const where = { catalog: SYSTEM, schema: 'runtime', procedure: 'kill_query' };
  return [{ user: anyOf(namesOf(callKill)), ...where, privileges: ['EXECUTE'] }];
}

/** One rule for all users with the same rights. */
function rulesOf<Right>(
  holders: readonly (readonly [Right, Bitset])[],
  { namesOf }: PrincipalIndex,
): { user: string; allow: Right[] }[] {
  let groups: { allow: Right[]; users: Bitset }[] = [];
  for (const [right, held] of holders) {
    const others = groups.reduce((rest, { users }) => rest.minus(users), held);
    const divided = groups.flatMap(({ allow, users }) => [
      { allow: [...allow, right], users: users.and(held) },
      { allow, users: users.minus(held) },
    ]);
    groups = [...divided, { allow: [right], users: others }];
  }
  return groups
    .filter(({ users }) => !users.isEmpty())
    .map(({ allow, users }) => ({ user: anyOf(namesOf(users)), allow }));
}
