import { grantDetails, policyDetails, sameDetails } from '../../grants/domain/audit-details.js';
import { actingPairs } from '../../trino-rules/model/acting.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { type Members, Principals } from '../../trino-rules/model/principals.js';
import { isAroundCatalogOf } from '../../trino-rules/model/restrictions.js';
import type { Snapshot, SnapshotPolicy, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { joinById } from './join-by-id.js';
import { isBelowAnotherMask, changedGroupIds } from './withdrawal.js';

/** Names on the engine that lose anything between two snapshots: rather one too many than one too few. */
export function losingNames(previous: Snapshot, explained: Snapshot): Set<string> {
  const [before, after] = [new Principals(previous), new Principals(explained)];
  const left = (named: PolicyPrincipal): string[] => less(before.members(named), after.members(named));
  const names = new Set([
    ...left({ type: 'everyone' }),
    ...previous.groups.flatMap(({ id }) => left({ type: 'group', id })),
    // A found text may give something to accounts that had nothing here.
    ...joinById(previous.users, explained.users).flatMap(([was, is]) =>
      was?.isActive === true && is?.isActive === false ? [is.name] : [],
    ),
    ...previous.settings.serviceAccounts.filter((name) => !explained.settings.serviceAccounts.includes(name)),
    ...byGrants(previous, explained, before, after),
    ...byPolicies(previous, explained, before, after),
  ]);
  // Nobody acts as these in any case.
  const acting = actingPairs(explained, after);
  for (const [actor, targets] of actingPairs(previous, before))
    if ([...targets].some((name) => !names.has(name) && acting.get(actor)?.has(name) !== true)) names.add(actor);
  return names;
}

/** All who had a grant that ended, changed, or is about the queries of fewer; else those who have it no longer. */
function byGrants(previous: Snapshot, explained: Snapshot, before: Principals, after: Principals): string[] {
  return joinById(previous.grants, effective(explained).grants).flatMap(([was, is]) => {
    if (was === undefined) return [];
    const { queries } = was.resource;
    const isKept =
      is !== undefined &&
      sameDetails(grantDetails(was), grantDetails(is)) &&
      (queries === undefined || less(before.owners(queries), after.owners(queries)).length === 0);
    return less(before.members(was.principal), isKept ? after.members(is.principal) : NOBODY);
  });
}

/** All to whom a policy applies that is new, changed, or takes more; else those to whom it newly applies. */
function byPolicies(previous: Snapshot, explained: Snapshot, before: Principals, after: Principals): string[] {
  const all = [...previous.policies, ...explained.policies];
  const regrouped = changedGroupIds(previous, explained);
  const restricted = otherwiseRestricted(previous.settings, explained.settings);
  const overQueries = new Set(
    previous.grants.flatMap(({ principal, resource: { engine, queries } }) =>
      engine === undefined && queries === undefined ? [] : less(before.members(principal)),
    ),
  );
  return joinById(previous.policies, explained.policies).flatMap(([was, is]) => {
    const had = was === undefined ? NOBODY : before.membersOf(was);
    const has = is === undefined ? NOBODY : after.membersOf(is);
    const isSame = was !== undefined && is !== undefined && sameDetails(policyDetails(was), policyDetails(is));
    const either = [was, is].filter((policy) => policy !== undefined);
    const isWider =
      either.some((policy) => restricted.some((catalog) => isAroundCatalogOf({ catalog }, policy))) ||
      // There, a withdrawal hides the column.
      (!(isSame && !namesAny(is, regrouped)) && either.some((policy) => isBelowAnotherMask(policy, all)));
    if (isWider) return less(new Map([...had, ...has]));
    if (is === undefined) return [];
    const { queries } = is.kind === 'deny' ? is.resource : {};
    if (queries === undefined) return less(has, isSame ? had : NOBODY);
    const isOfMore = less(after.owners(queries), before.owners(queries)).length > 0;
    return less(has, isSame && !isOfMore ? had : NOBODY).filter((name) => overQueries.has(name));
  });
}

function namesAny({ principal, except }: SnapshotPolicy, groups: ReadonlySet<number>): boolean {
  return [principal, ...except].some((named) => named.type === 'group' && groups.has(named.id));
}

/** Catalogs in which settings have restrictions take something else: a raw column that is no longer hidden is masked, which takes writing. */
function otherwiseRestricted(previous: SnapshotSettings, explained: SnapshotSettings): string[] {
  return (['externalTableCatalogs', 'rawColumnCatalogs'] as const).flatMap((key) => [
    ...explained[key].filter((catalog) => !previous[key].includes(catalog)),
    ...previous[key].filter((catalog) => !explained[key].includes(catalog)),
  ]);
}

/** The names of the members of the first that are none of the second. */
function less(members: Members, others: Members = NOBODY): string[] {
  const names = new Set([...others.values()].map(({ name }) => name));
  return [...members.values()].flatMap(({ name }) => (names.has(name) ? [] : [name]));
}

const NOBODY: Members = new Map();
