import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { NO_RULES, type RulesDocument, SYSTEM_INFORMATION_RIGHTS } from '../../trino-rules/document/rules-document.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { isReplacementSafe } from '../../trino-rules/model/named-others.js';
import { levelOf, type Node, SYSTEM } from '../../trino-rules/model/node.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import { ImportedRows, type UnrestrictedJoiner } from './imported-rows.js';
import { type Joiner, withJoiners } from './joiners.js';
import type { ListedRules } from './file-findings.js';
import { matchesAny, isGrantable, type ListedName, type NamedNode, namedNodes } from './named-nodes.js';
import {
  CALL_KILL_QUERY,
  isUsedByStatements,
  adjustKillQuery,
  mayCallKillQuery,
  adjustSystemAccess,
  systemTableRights,
} from './system-tables.js';
import { accessOf, NO_NODE_ACCESS, type NodeAccessTree, NodeAccessReader, type UserAccess } from './node-access.js';
import { RoutineRights } from './routine-rights.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';

const NO_ACCESS: UserAccess = { grants: [], denies: [], filters: [], hiddenColumns: [], masks: [] };

/** Access that the import leaves out, although the rules give it. */
export interface Exclusion {
  user: string;
  /** Where access is left out; null: everywhere. */
  catalog: string | null;
  /** Whether only the grant on the catalog itself is left out. Grants on schemas and tables stay. */
  isCatalogOnly?: boolean;
}

export interface ImportedRules {
  snapshot: Snapshot;
  /** `snapshot` with hypothetical users (`Joiner`) added to their groups. */
  snapshotWithJoiners: Snapshot;
  unrestrictedJoiners: UnrestrictedJoiner[];
  renamedGroups: ReadonlyMap<string, string>;
  groupIds: ReadonlyMap<string, number>;
}

/**
 * Makes grants, groups and policies that give each user what the rules give. Where grants cannot express the rules exactly, they give
 * less, never more.
 * @param document rules for the listed users and for the joiners (hypothetical users with whom the import is also checked)
 */
export function importRules(
  { document, problemOf }: Pick<ListedRules, 'document' | 'problemOf'>,
  listedUsers: readonly ListedUser[],
  joiners: readonly Joiner[],
  patterns: PatternCache,
  { settings, at }: { settings: SnapshotSettings; at: Date },
  exclusions: readonly Exclusion[] = [],
  listedNodes: readonly ListedName[] = [],
): ImportedRules {
  const allNames = [...listedUsers, ...joiners].map(({ name }) => name);
  const listedNames = [...new Set(listedUsers.map(({ name }) => name))];
  const engineNames = new EngineSets(document, patterns, new UserUniverse(allNames, [document], patterns));
  const nodes = namedNodes(engineNames, settings, listedNodes);
  const excludedCatalogsOf = (user: string, isCatalogOnly: boolean): (string | null)[] => {
    const ofUser = exclusions.filter((each) => each.user === user && (each.isCatalogOnly ?? false) === isCatalogOnly);
    return ofUser.map(({ catalog }) => catalog);
  };
  const usersByAccess = new Map<string, { access: ImportedAccess; names: string[] }>();
  const accessByRules = new Map<string, ImportedAccess>();
  const queryRightsByRules = new Map<string, QueryRights>();
  for (const name of new Set(allNames)) {
    const excludedCatalogs = excludedCatalogsOf(name, false);
    const userRules = rulesFor(name, document, patterns);
    if (excludedCatalogs.includes(null)) continue;
    const namedOnlyCatalogs = excludedCatalogsOf(name, true);
    const rightsOnQueries = getOrInsert(queryRightsByRules, userRules.key, () =>
      queryRights(userRules.rules, name, listedNames, patterns),
    );
    // The engine never asks about rights on the user's own queries.
    const rightsByOwner = rightsOnQueries.rightsByOwner.filter(({ owners }) => owners.some((owner) => owner !== name));
    const userQueryRights = { allQueryPrivileges: rightsOnQueries.allQueryPrivileges, rightsByOwner };
    const key = JSON.stringify([userRules.key, excludedCatalogs, namedOnlyCatalogs, userQueryRights]);
    const access = getOrInsert(accessByRules, key, () =>
      accessFor(userRules.rules, name, userQueryRights, excludedCatalogs, namedOnlyCatalogs),
    );
    if (isEmptyAccess(access)) continue;
    getOrInsert(usersByAccess, JSON.stringify(access), () => ({ access, names: [] })).names.push(name);
  }
  const rows = new ImportedRows(listedUsers, joiners);
  for (const { access, names } of usersByAccess.values()) {
    for (const accessPart of [...access.nonSystemAccess, access.systemAccess]) rows.addAccess(names, accessPart);
    for (const { owners, privileges, isDenied } of access.queryRightsByOwner) {
      const ownerPrivileges = [{ resource: { queries: rows.principals.principalOf(owners) }, privileges }];
      rows.addAccess(names, isDenied ? { denies: ownerPrivileges } : { grants: ownerPrivileges });
    }
  }
  for (const { name, targets, exceptions } of impersonators(document, listedUsers, patterns)) {
    if (excludedCatalogsOf(name, false).includes(null)) continue;
    const actor = rows.principals.principalOf([name]);
    const target = targets === 'everyone' ? { type: targets } : rows.principals.principalOf(targets);
    rows.grant(actor, { as: target }, ['IMPERSONATE']);
    if (exceptions.length > 0) rows.deny(actor, { as: rows.principals.principalOf(exceptions) }, ['IMPERSONATE']);
  }
  const { grants, policies, unrestrictedJoiners } = rows.toSnapshotRows();
  const { users, groups, groupIds, renamedGroups } = rows.principals;
  const snapshot = { users, groups, grants, policies, settings, at };
  return {
    snapshot,
    snapshotWithJoiners: withJoiners(snapshot, joiners, groupIds),
    unrestrictedJoiners,
    renamedGroups,
    groupIds,
  };

  /** @param namedOnlyCatalogs catalogs without a grant on the catalog itself; the entry null: no grant on everything */
  function accessFor(
    rules: RulesDocument,
    user: string,
    { allQueryPrivileges: privilegesOnAll, rightsByOwner }: QueryRights,
    excludedCatalogs: readonly (string | null)[],
    namedOnlyCatalogs: readonly (string | null)[],
  ): ImportedAccess {
    const evaluator = new Evaluator(rules, patterns);
    const givenPrivileges = rightsByOwner.filter(({ isDenied }) => !isDenied).flatMap(({ privileges }) => privileges);
    const mayKillQueries = [...privilegesOnAll, ...givenPrivileges].includes('KILL_QUERIES');
    const anyOwnerRule = rules.queries.find(({ queryOwner }) => queryOwner === undefined);
    if (anyOwnerRule?.allow.includes('execute') !== true)
      return {
        nonSystemAccess: [{ ...NO_ACCESS, grants: rightsOnEngine(evaluator, user, privilegesOnAll) }],
        systemAccess: adjustKillQuery(false, mayKillQueries),
        queryRightsByOwner: rightsByOwner,
      };
    const reader = new NodeAccessReader(rules, patterns, (rule) => problemOf(rule) !== null);
    const isIncluded = ({ resource: { catalog } }: { resource: Node }): boolean =>
      catalog === undefined ? excludedCatalogs.length === 0 : !excludedCatalogs.includes(catalog);
    const rootNodes =
      excludedCatalogs.length === 0 && isGrantable({}, settings) ? [{ resource: {}, children: nodes }] : nodes;
    const { freshName } = engineNames;
    const dataAccess = rootNodes
      .filter(isIncluded)
      .map((node) => accessOf(readAccessTree(reader, user, node, freshName, namedOnlyCatalogs)));
    const schemaEntryOf = ({ resource: { catalog = '' }, children }: NamedNode): [string, string[]] => [
      catalog,
      children.flatMap(({ resource: { schema } }) => schema ?? []),
    ];
    const catalogNames = { namedSchemas: new Map(nodes.map(schemaEntryOf)), freshName };
    const routines = new RoutineRights(rules, evaluator, patterns, settings.metadataCatalog, catalogNames);
    const routineRights = routines.rightsOf(user, dataAccess);
    const routineGrants = routineRights.grants.filter(isIncluded);
    const routineDenies = routineRights.denies.filter(isIncluded);
    const systemNames = { tables: engineNames.tables, freshName, schemaNames: [...engineNames.schemaNames(SYSTEM)] };
    const mayCallKill = mayCallKillQuery(evaluator, user);
    const killQueryAccess = adjustKillQuery(mayCallKill, mayKillQueries);
    const systemRights = excludedCatalogs.includes(SYSTEM) ? NO_ACCESS : systemTableRights(reader, user, systemNames);
    const dataGrants = [
      ...dataAccess.flatMap(({ grants }) => grants),
      ...routineGrants,
      ...(mayCallKill ? [CALL_KILL_QUERY] : []),
    ];
    const mayExecute = isUsedByStatements([...dataGrants, ...systemRights.grants]);
    const executePrivilege = mayExecute ? [] : (['EXECUTE_QUERIES'] as const);
    const engineGrants = rightsOnEngine(evaluator, user, [...executePrivilege, ...privilegesOnAll]);
    const otherGrants = [...routineGrants, ...engineGrants, ...killQueryAccess.grants];
    const systemAccess = adjustSystemAccess(systemRights, [...dataGrants, ...engineGrants]);
    return {
      nonSystemAccess: [...dataAccess, { ...NO_ACCESS, grants: otherGrants, denies: routineDenies }],
      systemAccess: { ...systemAccess, denies: [...systemAccess.denies, ...killQueryAccess.denies] },
      queryRightsByOwner: rightsByOwner,
    };
  }
}

interface ImportedAccess {
  nonSystemAccess: UserAccess[];
  systemAccess: Pick<UserAccess, 'grants' | 'denies'>;
  queryRightsByOwner: QueryRights['rightsByOwner'];
}

function isEmptyAccess({ nonSystemAccess, systemAccess, queryRightsByOwner }: ImportedAccess): boolean {
  const dataAccess = [...nonSystemAccess, systemAccess];
  return queryRightsByOwner.length === 0 && dataAccess.every((each) => each.grants.length + each.denies.length === 0);
}

/** The rules that match a user, in the sections whose rights can be granted. Users whom the same rules match get the same key. */
function rulesFor(
  user: string,
  { catalogs, schemas, tables, queries, functions, procedures, system_information }: RulesDocument,
  patterns: PatternCache,
): { rules: RulesDocument; key: string } {
  const keyParts: (number | string)[] = [];
  const matchingRules = <Rule extends { user?: string }>(rules: readonly Rule[]): Rule[] => {
    keyParts.push('|');
    return rules.filter((rule, index) => {
      const isMatching = patterns.matches(rule.user, user);
      if (isMatching) keyParts.push(index);
      return isMatching;
    });
  };
  const rules = {
    ...NO_RULES,
    catalogs: matchingRules(catalogs),
    schemas: matchingRules(schemas),
    tables: matchingRules(tables),
    queries: matchingRules(queries),
    functions: matchingRules(functions),
    procedures: matchingRules(procedures),
    system_information: matchingRules(system_information),
  };
  return { rules, key: keyParts.join(',') };
}

function readAccessTree(
  reader: NodeAccessReader,
  user: string,
  { resource, children: childNodes }: NamedNode,
  freshName: string,
  namedOnlyCatalogs: readonly (string | null)[],
): NodeAccessTree {
  const { catalog, schema, table } = resource;
  const access =
    catalog !== undefined && schema !== undefined && table !== undefined
      ? reader.tableAccess(user, { catalog, schema, table })
      : reader.unnamedAccess(
          user,
          { catalog: catalog ?? freshName, schema: schema ?? freshName, table: freshName },
          levelOf(resource),
        );
  const isExcluded = schema === undefined && namedOnlyCatalogs.includes(catalog ?? null);
  const childTrees = childNodes.map((node) => readAccessTree(reader, user, node, freshName, namedOnlyCatalogs));
  return { resource, access: isExcluded ? NO_NODE_ACCESS : access, children: childTrees };
}

/** An engine principal and the users whom it may impersonate; `everyone`: all accounts, also later ones, except `exceptions`. */
interface Impersonator {
  name: string;
  targets: string[] | 'everyone';
  exceptions: string[];
}

function impersonators(document: RulesDocument, users: readonly ListedUser[], patterns: PatternCache): Impersonator[] {
  if (document.impersonation.length === 0) return [];
  const evaluator = new Evaluator(document, patterns);
  const userNames = [...new Set(users.map(({ name }) => name))].filter(isReplacementSafe);
  const programs = [...new Set(users.filter(({ isEngine }) => isEngine === true).map(({ name }) => name))];
  const namesImpersonatedBy = (actor: string): string[] =>
    userNames.filter((name) => name !== actor && evaluator.mayImpersonate(actor, name));
  const actingPrograms = new Set(programs.filter((name) => namesImpersonatedBy(name).length > 0));
  const nonActingNames = userNames.filter((name) => !actingPrograms.has(name));
  const listedNames = new Set(userNames);
  const mayActAsAnybody = (actor: string): boolean => {
    const actorRules = document.impersonation.filter(({ original_user }) => patterns.matches(original_user, actor));
    const decidingRules = actorRules.slice(0, actorRules.findIndex(({ new_user }) => matchesAny(new_user)) + 1);
    return (
      decidingRules.at(-1)?.allow === true &&
      decidingRules.every(
        ({ allow, new_user }) => allow || patterns.listsOnly(new_user, (name) => listedNames.has(name)),
      )
    );
  };
  return [...actingPrograms].flatMap((name): Impersonator[] => {
    const targets = namesImpersonatedBy(name).filter((target) => !actingPrograms.has(target));
    if (targets.length === 0) return [];
    if (!mayActAsAnybody(name)) return [{ name, targets, exceptions: [] }];
    return [{ name, targets: 'everyone', exceptions: nonActingNames.filter((other) => !targets.includes(other)) }];
  });
}

/** A user's grant on the engine itself. @param queryPrivileges the user's rights on all queries */
function rightsOnEngine(
  evaluator: Evaluator,
  user: string,
  queryPrivileges: readonly (QueryPrivilege | 'EXECUTE_QUERIES')[],
): UserAccess['grants'] {
  const [mayRead, mayWrite] = SYSTEM_INFORMATION_RIGHTS.map((right) =>
    evaluator.hasSystemInformationRight(user, right),
  );
  const privileges: Privilege[] = [
    ...queryPrivileges,
    ...(mayRead ? (['READ_SYSTEM_INFORMATION'] as const) : []),
    ...(mayWrite ? (['WRITE_SYSTEM_INFORMATION'] as const) : []),
  ];
  return privileges.length === 0 ? [] : [{ resource: { engine: true }, privileges }];
}

type QueryPrivilege = 'VIEW_QUERIES' | 'KILL_QUERIES';

interface QueryRights {
  allQueryPrivileges: QueryPrivilege[];
  /** Rights on the queries of `owners`. If `isDenied`, the user has `privileges` on all queries except those of `owners`. */
  rightsByOwner: { owners: string[]; privileges: QueryPrivilege[]; isDenied: boolean }[];
}

const QUERY_PRIVILEGES = [
  ['view', 'VIEW_QUERIES'],
  ['kill', 'KILL_QUERIES'],
] as const;

/** A user's rights on the queries of other users. May miss rights on the queries of users who are not listed. */
function queryRights(
  { queries }: Pick<RulesDocument, 'queries'>,
  user: string,
  userNames: readonly string[],
  patterns: PatternCache,
): QueryRights {
  const rights: QueryRights = { allQueryPrivileges: [], rightsByOwner: [] };
  const decidingRules = queries.slice(0, queries.findIndex(({ queryOwner }) => matchesAny(queryOwner)) + 1);
  const evaluator = new Evaluator({ ...NO_RULES, queries }, patterns);
  const listedNames = new Set(userNames);
  for (const [right, privilege] of QUERY_PRIVILEGES) {
    const refusingRules = decidingRules.filter(({ allow }) => !allow.includes(right));
    const hasRightOnAllQueries =
      decidingRules.length > 0 &&
      refusingRules.every(({ queryOwner }) => patterns.listsOnly(queryOwner, (name) => listedNames.has(name)));
    if (hasRightOnAllQueries) rights.allQueryPrivileges.push(privilege);
    // If no rule is limited to some owners, a user has the right on all queries, or on none.
    if (queries.every(({ queryOwner }) => matchesAny(queryOwner))) continue;
    const owners = userNames.filter((owner) => evaluator.hasQueryRight(user, right, owner) !== hasRightOnAllQueries);
    if (owners.length === 0) continue;
    const matchingRight = rights.rightsByOwner.find(
      (each) => each.isDenied === hasRightOnAllQueries && each.owners.join() === owners.join(),
    );
    if (matchingRight === undefined)
      rights.rightsByOwner.push({ owners, privileges: [privilege], isDenied: hasRightOnAllQueries });
    else matchingRight.privileges.push(privilege);
  }
  return rights;
}
