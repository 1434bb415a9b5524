import type { ProcedureRule, QueryRule, SystemInformationRule } from '../document/rules-document.js';
import type { Privilege } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import type { Bitset } from './bitset.js';
import { hasEffect, SYSTEM } from './engine-terms.js';
import { anyOf } from './name-pattern.js';
import type { PrincipalIndex } from './principal-index.js';

/** Users with each right over the engine itself; service accounts have none. */
export interface EngineRights {
  view: Bitset;
  kill: Bitset;
  read: Bitset;
  write: Bitset;
}

/** What is granted on the engine, less what is denied there. */
export function engineRights({ grants, policies, at }: Snapshot, principals: PrincipalIndex): EngineRights {
  const given = grants.filter((grant) => grant.resource.engine === true && hasEffect(grant, at));
  const denies = policies.filter((policy) => policy.kind === 'deny' && policy.resource.engine === true);
  const holders = (privilege: Privilege): Bitset => {
    const some = given
      .filter(({ privileges }) => privileges.includes(privilege))
      .reduce((all, { principal }) => all.or(principals.resolvePrincipal(principal)), principals.none);
    return denies
      .filter((policy) => policy.kind === 'deny' && policy.privileges.includes(privilege))
      .reduce((left, policy) => left.minus(principals.resolvePolicy(policy)), some);
  };
  return {
    view: holders('VIEW_QUERIES'),
    kill: holders('KILL_QUERIES'),
    read: holders('READ_SYSTEM_INFORMATION'),
    write: holders('WRITE_SYSTEM_INFORMATION'),
  };
}

/** All that one user may do with queries stands in one rule, because the first that matches decides. */
export function queryRules(executing: Bitset, { view, kill }: EngineRights, principals: PrincipalIndex): QueryRule[] {
  return rulesOf(
    [
      ['execute', executing],
      ['view', view],
      ['kill', kill],
    ],
    principals,
  );
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
export function killingRules({ kill }: EngineRights, { namesOf }: PrincipalIndex): ProcedureRule[] {
  if (kill.isEmpty()) return [];
  const where = { catalog: SYSTEM, schema: 'runtime', procedure: 'kill_query' };
  return [{ user: anyOf(namesOf(kill)), ...where, privileges: ['EXECUTE'] }];
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
