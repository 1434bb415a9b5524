import { grantDetails, policyDetails, sameDetails } from '../../grants/domain/audit-details.js';
import { marked } from '../../trino-rules/compile/rules-text.js';
import { anyOf } from '../../trino-rules/compile/name-pattern.js';
import { compareAccess } from '../../trino-rules/diff/access-change.js';
import {
  MARKER,
  QUERY_RIGHTS,
  READERS_FILTER,
  type RulesDocument,
  SYSTEM_INFORMATION_RIGHTS,
  type TableRule,
} from '../../trino-rules/document/rules-document.js';
import { readRules } from '../../trino-rules/document/rules-reader.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { actingPairs, canBeImpersonated } from '../../trino-rules/model/named-others.js';
import { effective } from '../../trino-rules/model/effective-snapshot.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import type { PolicyPrincipal } from '../../trino-rules/model/principal.js';
import { type Members, Principals } from '../../trino-rules/model/principals.js';
import { isAroundCatalogOf } from '../../trino-rules/model/restrictions.js';
import type { Snapshot, SnapshotPolicy, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import { joinById } from './explained-snapshot.js';
import type { SnapshotPair } from './unexplained-change.js';
import { changedGroupIds, isBelowAnotherMask, settingsOfBoth } from './withdrawal.js';

/**
 * The published document with denials in front, for users who lost anything and for access that changed settings removed. The engine
 * applies the first matching rule, so denials in front only remove access. Of the compiler only names and the marker are used.
 * @param ownAccount is never shut out, because it asks the engine which version is live
 * @returns null: the check of the result failed
 */
export function closedRules(
  published: RulesDocument,
  { previous, explained }: SnapshotPair,
  ownAccount: string,
): { text: string; hash: string; document: RulesDocument } | null {
  const names = [...losingNames(previous, explained)].filter((name) => name !== ownAccount).sort();
  const both = settingsOfBoth(previous.settings, explained.settings);
  const { system_session_properties: properties, ...others } = published;
  const unmarked = properties.filter(({ property }) => !property?.startsWith(MARKER));
  const settled = withoutSettings({ ...others, system_session_properties: unmarked }, previous.settings, both);
  const less = withoutNames(settled, names);
  const { text, hash } = marked(ownAccount, less);
  const reading = readRules(text);
  if (reading.kind === 'refused') return null;
  const { document } = reading;
  if (compareAccess(published, document).gainedInAll > 0) return null;
  return areShutOut(document, names) ? { text, hash, document } : null;
}

/** Whether the rules leave these users no access, and let nobody impersonate them. Checks the denials, which nothing else proves. */
export function areShutOut(rules: RulesDocument, names: readonly string[]): boolean {
  const evaluator = new Evaluator(rules);
  const { first } = evaluator;
  return names.every((user) => {
    const catalogs = rules.catalogs.filter((rule) => first.matches(rule, { user }));
    const last = catalogs.findIndex(({ catalog }) => catalog === undefined);
    return (
      last >= 0 &&
      catalogs.slice(0, last + 1).every(({ allow }) => allow === 'none') &&
      QUERY_RIGHTS.every((right) => !evaluator.mayWithQueries(user, right)) &&
      SYSTEM_INFORMATION_RIGHTS.every((right) => !evaluator.mayWithSystemInformation(user, right)) &&
      !evaluator.maySetSystemSessionProperty(user, 'any property') &&
      !evaluator.mayImpersonate(user, 'anybody') &&
      (!canBeImpersonated(user) || !evaluator.mayImpersonate('anybody', user))
    );
  });
}

/** Adds denials for users. Names every section, so that a new one does not compile until it is handled here. */
function withoutNames(rules: RulesDocument, names: readonly string[]): RulesDocument {
  if (names.length === 0) return rules;
  const user = anyOf(names);
  const viewers = names.filter(canBeImpersonated);
  return {
    catalogs: [{ user, allow: 'none' }, ...rules.catalogs],
    schemas: [{ user, owner: false }, ...rules.schemas],
    tables: [{ user, privileges: [] }, ...rules.tables],
    queries: [{ user, allow: [] }, ...rules.queries],
    impersonation: [
      { original_user: user, new_user: '.*', allow: false },
      ...(viewers.length === 0 ? [] : [{ new_user: anyOf(viewers), allow: false }]),
      ...rules.impersonation,
    ],
    functions: [{ user, privileges: [] }, ...rules.functions],
    procedures: [{ user, privileges: [] }, ...rules.procedures],
    system_information: [{ user, allow: [] }, ...rules.system_information],
    system_session_properties: [{ user, allow: false }, ...rules.system_session_properties],
    catalog_session_properties: [{ user, allow: false }, ...rules.catalog_session_properties],
  };
}

/** Adds denials for changed settings: closes catalogs that service accounts lost, and closes a new metadata catalog to everybody. */
function withoutSettings(rules: RulesDocument, was: SnapshotSettings, both: SnapshotSettings): RulesDocument {
  const services = anyOf(was.serviceAccounts);
  const taken = <T>(given: readonly T[], left: readonly T[]): T[] => given.filter((each) => !left.includes(each));
  const catalogs = [
    ...taken(was.writableCatalogs, both.writableCatalogs),
    ...taken(was.readableCatalogs, both.readableCatalogs),
  ];
  const properties = taken(was.sessionProperties, both.sessionProperties);
  // Denials come after the rule that lets service accounts set every property.
  const others = rules.system_session_properties.findIndex(({ user, property }) => user !== services || property);
  const { metadataCatalog } = both;
  return {
    ...rules,
    catalogs: [
      ...(metadataCatalog === was.metadataCatalog || metadataCatalog === null
        ? []
        : [{ catalog: anyOf([metadataCatalog]), allow: 'none' as const }]),
      ...(catalogs.length === 0 ? [] : [{ user: services, catalog: anyOf(catalogs), allow: 'none' as const }]),
      ...rules.catalogs,
    ],
    tables: was.readersMaintain && !both.readersMaintain ? rules.tables.map(withoutTableProcedures) : rules.tables,
    impersonation:
      was.impersonation && !(both.impersonation && both.ownAccount === was.ownAccount)
        ? [{ original_user: anyOf([was.ownAccount]), new_user: '.*', allow: false }, ...rules.impersonation]
        : rules.impersonation,
    system_session_properties:
      properties.length === 0
        ? rules.system_session_properties
        : rules.system_session_properties.toSpliced(others < 0 ? Infinity : others, 0, {
            property: anyOf(properties),
            allow: false,
          }),
  };
}

/** Adds a filter to rules that only read, because the engine refuses table procedures to users with a filter. */
function withoutTableProcedures(rule: TableRule): TableRule {
  const isReading = rule.privileges.every((privilege) => privilege === 'SELECT' || privilege === 'GRANT_SELECT');
  const isOpen = rule.privileges.length > 0 && rule.filter === undefined && rule.catalog !== SYSTEM;
  return isReading && isOpen ? { ...rule, filter: READERS_FILTER } : rule;
}

/** Names on the engine that lose anything between two snapshots. In doubt a name is included. */
export function losingNames(previous: Snapshot, explained: Snapshot): Set<string> {
  const [before, after] = [new Principals(previous), new Principals(explained)];
  const left = (named: PolicyPrincipal): string[] => less(before.members(named), after.members(named));
  const names = new Set([
    ...left({ type: 'everyone' }),
    ...previous.groups.flatMap(({ id }) => left({ type: 'group', id })),
    // Includes deactivated accounts that had no grants, because a found text may give them access.
    ...joinById(previous.users, explained.users).flatMap(([was, is]) =>
      was?.isActive === true && is?.isActive === false ? [is.name] : [],
    ),
    ...previous.settings.serviceAccounts.filter((name) => !explained.settings.serviceAccounts.includes(name)),
    ...byGrants(previous, explained, before, after),
    ...byPolicies(previous, explained, before, after),
  ]);
  // Nobody can impersonate the losing users any more, so losing them as targets does not count.
  const acting = actingPairs(explained, after);
  for (const [actor, targets] of actingPairs(previous, before))
    if ([...targets].some((name) => !names.has(name) && acting.get(actor)?.has(name) !== true)) names.add(actor);
  return names;
}

/** Names that lose by grants: all holders if a grant ended, changed or covers fewer users' queries; otherwise the former holders. */
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

/** Names that lose by policies: all to whom a new, changed or stricter policy applies; otherwise those to whom it newly applies. */
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
      // In this case a withdrawal hides the column.
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

/** Catalogs in which changed settings alter the effect of restrictions: a raw column that is masked instead of hidden prevents writing. */
function otherwiseRestricted(previous: SnapshotSettings, explained: SnapshotSettings): string[] {
  return (['externalTableCatalogs', 'rawColumnCatalogs'] as const).flatMap((key) => [
    ...explained[key].filter((catalog) => !previous[key].includes(catalog)),
    ...previous[key].filter((catalog) => !explained[key].includes(catalog)),
  ]);
}

/** Names of `members` that are not among `others`. */
function less(members: Members, others: Members = NOBODY): string[] {
  const names = new Set([...others.values()].map(({ name }) => name));
  return [...members.values()].flatMap(({ name }) => (names.has(name) ? [] : [name]));
}

const NOBODY: Members = new Map();
