import { grantDetails, policyDetails, equalDetails } from '../../grants/domain/audit-details.js';
import type { RulesDocument } from '../../trino-rules/document/rules-document.js';
import { effectiveSnapshot } from '../../trino-rules/model/effective-snapshot.js';
import { targetsByImpersonator } from '../../trino-rules/model/named-others.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { type Members, Principals } from '../../trino-rules/model/principals.js';
import { concernsCatalogOf } from '../../trino-rules/model/restrictions.js';
import type { Snapshot, SnapshotPolicy, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { type DenyingRules, withDenials } from '../../trino-rules/transition/denials.js';
import { joinById } from './explained-snapshot.js';
import type { SnapshotPair } from './unexplained-change.js';
import { changedGroupIds, isBelowAnotherMask, settingsOfBoth } from './withdrawal.js';

/**
 * Denies everything to users who lost any access, and denies to all users what only the former settings allowed.
 * @param ownAccount the user that is never shut out, because it asks the engine which version is live
 * @returns the denying rules and a snapshot that gives no more than these rules; null: the check of the rules failed
 */
export function closedRules(
  publishedDocument: RulesDocument,
  pair: SnapshotPair,
  ownAccount: string,
): (DenyingRules & { snapshot: Snapshot }) | null {
  const { names, snapshot } = shutOutLosers(pair, ownAccount);
  const losses = { names, previous: pair.previous.settings, remaining: snapshot.settings };
  const rules = withDenials(publishedDocument, losses, ownAccount);
  return rules && { ...rules, snapshot };
}

/** `names`: the users who lost access, sorted. `snapshot`: made from `previous`, without any access of these users. */
export function shutOutLosers(
  { previous, explained }: SnapshotPair,
  ownAccount: string,
): { names: string[]; snapshot: Snapshot } {
  const names = [...losingNames(previous, explained)].filter((name) => name !== ownAccount).sort();
  const settings = settingsOfBoth(previous.settings, explained.settings);
  return { names, snapshot: { ...shutOutSnapshot(previous, names), settings, at: explained.at } };
}

function shutOutSnapshot(previous: Snapshot, names: readonly string[]): Snapshot {
  const losers = new Set(names);
  const isShutOut = (principal: PolicyPrincipal | undefined): boolean =>
    principal?.type === 'engine' && losers.has(principal.name);
  return {
    ...previous,
    users: previous.users.map((user) => ({ ...user, isActive: user.isActive && !losers.has(user.name) })),
    groups: previous.groups.map((group) => ({ ...group, engines: group.engines.filter((name) => !losers.has(name)) })),
    grants: previous.grants.filter(
      ({ principal, resource: { as, queries } }) =>
        ![principal, as, queries].some((namedPrincipal) => isShutOut(namedPrincipal)),
    ),
    policies: previous.policies
      .filter(({ principal, resource }) => !isShutOut(principal) && !isShutOut(resource.as))
      .map((policy) => ({ ...policy, except: policy.except.filter((exception) => !isShutOut(exception)) })),
  };
}

/** Names of engine users who lose any access from `previous` to `explained`. In doubt a name is included. */
export function losingNames(previous: Snapshot, explained: Snapshot): Set<string> {
  const [before, after] = [new Principals(previous), new Principals(explained)];
  const losingMembers = (namedPrincipal: PolicyPrincipal): string[] =>
    minus(before.members(namedPrincipal), after.members(namedPrincipal));
  const names = new Set([
    ...losingMembers({ type: 'everyone' }),
    ...previous.groups.flatMap(({ id }) => losingMembers({ type: 'group', id })),
    // Includes each account deactivated since `previous`, even without grants: a rules text found at a target may give it access.
    ...joinById(previous.users, explained.users).flatMap(([oldUser, newUser]) =>
      oldUser?.isActive === true && newUser?.isActive === false ? [newUser.name] : [],
    ),
    ...previous.settings.serviceAccounts.filter((name) => !explained.settings.serviceAccounts.includes(name)),
    ...losingByGrants(previous, explained, before, after),
    ...losingByPolicies(previous, explained, before, after),
  ]);
  // Users in `names` are shut out, so losing the right to impersonate one of them does not count as a loss.
  const nextTargets = targetsByImpersonator(explained, after);
  for (const [actor, targets] of targetsByImpersonator(previous, before))
    if ([...targets].some((name) => !names.has(name) && nextTargets.get(actor)?.has(name) !== true)) names.add(actor);
  return names;
}

/** Names that lose access by grants: all holders of an ended or changed grant, and people who no longer hold an unchanged grant. */
function losingByGrants(
  previous: Snapshot,
  explained: Snapshot,
  principalsBefore: Principals,
  principalsAfter: Principals,
): string[] {
  return joinById(previous.grants, effectiveSnapshot(explained).grants).flatMap(([oldGrant, newGrant]) => {
    if (oldGrant === undefined) return [];
    const { queries } = oldGrant.resource;
    const isUnchanged =
      newGrant !== undefined &&
      equalDetails(grantDetails(oldGrant), grantDetails(newGrant)) &&
      (queries === undefined || minus(principalsBefore.owners(queries), principalsAfter.owners(queries)).length === 0);
    return minus(
      principalsBefore.members(oldGrant.principal),
      isUnchanged ? principalsAfter.members(newGrant.principal) : NOBODY,
    );
  });
}

/** Names of users who may lose access by policies, for example because a policy is new or applies to more users. */
function losingByPolicies(previous: Snapshot, explained: Snapshot, before: Principals, after: Principals): string[] {
  const policies = [...previous.policies, ...explained.policies];
  const regroupedIds = changedGroupIds(previous, explained);
  const changedCatalogs = otherwiseRestrictedCatalogs(previous.settings, explained.settings);
  const queryHolders = new Set(
    previous.grants.flatMap(({ principal, resource: { engine, queries } }) =>
      engine === undefined && queries === undefined ? [] : minus(before.members(principal)),
    ),
  );
  return joinById(previous.policies, explained.policies).flatMap(([old, next]) => {
    const formerMembers = old === undefined ? NOBODY : before.membersOf(old);
    const nextMembers = next === undefined ? NOBODY : after.membersOf(next);
    const isSame = old !== undefined && next !== undefined && equalDetails(policyDetails(old), policyDetails(next));
    const oldAndNew = [old, next].filter((policy) => policy !== undefined);
    const mayRestrictAll =
      oldAndNew.some((policy) => changedCatalogs.some((catalog) => concernsCatalogOf({ catalog }, policy))) ||
      // A higher node has another mask of the column. A withdrawal hides the column, because it is uncertain which mask applies.
      (!(isSame && !namesOneOf(next, regroupedIds)) &&
        oldAndNew.some((policy) => isBelowAnotherMask(policy, policies)));
    if (mayRestrictAll) return minus(new Map([...formerMembers, ...nextMembers]));
    if (next === undefined) return [];
    const { queries } = next.kind === 'deny' ? next.resource : {};
    if (queries === undefined) return minus(nextMembers, isSame ? formerMembers : NOBODY);
    const hasNewOwner = minus(after.owners(queries), before.owners(queries)).length > 0;
    return minus(nextMembers, isSame && !hasNewOwner ? formerMembers : NOBODY).filter((name) => queryHolders.has(name));
  });
}

function namesOneOf({ principal, except }: SnapshotPolicy, groups: ReadonlySet<number>): boolean {
  return [principal, ...except].some(
    (namedPrincipal) => namedPrincipal.type === 'group' && groups.has(namedPrincipal.id),
  );
}

/** Catalogs in which masks and filters take away other rights than before, because a setting changed. */
function otherwiseRestrictedCatalogs(previous: SnapshotSettings, explained: SnapshotSettings): string[] {
  return (['externalTableCatalogs', 'rawColumnCatalogs'] as const).flatMap((key) => [
    ...explained[key].filter((catalog) => !previous[key].includes(catalog)),
    ...previous[key].filter((catalog) => !explained[key].includes(catalog)),
  ]);
}

/** Names of `members` that are not among `remainingMembers`. */
function minus(members: Members, remainingMembers: Members = NOBODY): string[] {
  const names = new Set([...remainingMembers.values()].map(({ name }) => name));
  return [...members.values()].flatMap(({ name }) => (names.has(name) ? [] : [name]));
}

const NOBODY: Members = new Map();
