import { getOrInsert } from '../../kernel/collections.js';
import type { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { NO_RULES, type RulesDocument, SYSTEM_INFORMATION_RIGHTS } from '../../trino-rules/document/rules-document.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { canBeImpersonated } from '../../trino-rules/model/named-others.js';
import { levelOf, type Node, SYSTEM } from '../../trino-rules/model/node.js';
import type { Snapshot, SnapshotSettings } from '../../trino-rules/model/snapshot.js';
import type { ListedUser } from '../foreign/audiences.js';
import { ImportedRows, type Unrestricted } from './imported-rows.js';
import { type Joiner, withJoiners } from './joiners.js';
import type { ListedRules } from './listed-rules.js';
import { isAny, isOpen, type ListedName, type NamedNode, namedNodes } from './named-nodes.js';
import {
  CALL_KILL_QUERY,
  isUsedByStatements,
  adjustKillQuery,
  mayCallKillQuery,
  adjustSystemAccess,
  systemTables,
} from './system-tables.js';
import { accessOf, NO_OUTCOME, type OutcomeNode, OutcomeReader, type UserAccess } from './node-outcome.js';
import { RoutineRights } from './routine-rights.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';

const NOTHING: UserAccess = { grants: [], denies: [], filters: [], hidden: [], masks: [] };

/** Access that is left out, whatever the rules give. */
export interface Exclusion {
  user: string;
  /** Null: all catalogs. */
  catalog: string | null;
  /** Leaves out grants on the catalog itself, and keeps those on named nodes below. */
  isOfUnnamed?: boolean;
}

export interface ImportedRules {
  snapshot: Snapshot;
  withJoiners: Snapshot;
  unrestricted: Unrestricted[];
  /** New names of groups by their names in the list. */
  renamed: ReadonlyMap<string, string>;
  /** Ids of the listed groups, by name. */
  ofList: ReadonlyMap<string, number>;
}

/**
 * Grants, groups and policies that give these users and joiners what the rules give them, on every node that the rules name and in every
 * catalog of the settings. Where grants cannot express the rules exactly, they give less, never more. Users who may not execute
 * queries get nothing that statements use.
 * @param document rules for the users and the joiners
 */
export function importRules(
  { document, problemOf }: Pick<ListedRules, 'document' | 'problemOf'>,
  listed: readonly ListedUser[],
  joiners: readonly Joiner[],
  patterns: PatternCache,
  { settings, at }: { settings: SnapshotSettings; at: Date },
  excluded: readonly Exclusion[] = [],
  listing: readonly ListedName[] = [],
): ImportedRules {
  const names = [...listed, ...joiners].map(({ name }) => name);
  const listedNames = [...new Set(listed.map(({ name }) => name))];
  const engine = new EngineSets(document, patterns, new UserUniverse(names, [document], patterns));
  const nodes = namedNodes(engine, settings, listing);
  const excludedOf = (user: string, isOfUnnamed: boolean): (string | null)[] => {
    const own = excluded.filter((each) => each.user === user && (each.isOfUnnamed ?? false) === isOfUnnamed);
    return own.map(({ catalog }) => catalog);
  };
  const alike = new Map<string, { access: ImportedAccess; names: string[] }>();
  const accessByRules = new Map<string, ImportedAccess>();
  const queriesByRules = new Map<string, UserQueries>();
  for (const name of new Set(names)) {
    const own = excludedOf(name, false);
    const applying = rulesFor(name, document, patterns);
    if (own.includes(null)) continue;
    const unnamed = excludedOf(name, true);
    const inRules = getOrInsert(queriesByRules, applying.key, () =>
      userQueries(applying.rules, name, listedNames, patterns),
    );
    // The engine never asks about rights on the user's own queries.
    const ofSome = inRules.ofSome.filter(({ owners }) => owners.some((owner) => owner !== name));
    const queries = { ofAll: inRules.ofAll, ofSome };
    const access = getOrInsert(accessByRules, JSON.stringify([applying.key, own, unnamed, queries]), () =>
      accessBy(applying.rules, name, queries, own, unnamed),
    );
    if (isNothing(access)) continue;
    getOrInsert(alike, JSON.stringify(access), () => ({ access, names: [] })).names.push(name);
  }
  const rows = new ImportedRows(listed, joiners);
  for (const { access, names } of alike.values()) {
    for (const part of [...access.parts, access.inSystem]) rows.give(names, part);
    for (const { owners, privileges, isDenied } of access.queries) {
      const onQueries = [{ resource: { queries: rows.principals.principalOf(owners) }, privileges }];
      rows.give(names, isDenied ? { denies: onQueries } : { grants: onQueries });
    }
  }
  for (const { name, as, but } of actingUsers(document, listed, patterns)) {
    if (excludedOf(name, false).includes(null)) continue;
    const actor = rows.principals.principalOf([name]);
    rows.grant(actor, { as: as === 'everyone' ? { type: as } : rows.principals.principalOf(as) }, ['IMPERSONATE']);
    if (but.length > 0) rows.deny(actor, { as: rows.principals.principalOf(but) }, ['IMPERSONATE']);
  }
  const { grants, policies, unrestricted } = rows.written();
  const { users, groups, ofList, renamed } = rows.principals;
  const snapshot = { users, groups, grants, policies, settings, at };
  return { snapshot, withJoiners: withJoiners(snapshot, joiners, ofList), unrestricted, renamed, ofList };

  /** The access that rules give one user, without the excluded catalogs. */
  function accessBy(
    rules: RulesDocument,
    user: string,
    { ofAll, ofSome }: UserQueries,
    without: readonly (string | null)[],
    unnamed: readonly (string | null)[],
  ): ImportedAccess {
    const evaluator = new Evaluator(rules, patterns);
    const given = ofSome.filter(({ isDenied }) => !isDenied).flatMap(({ privileges }) => privileges);
    const kills = [...ofAll, ...given].includes('KILL_QUERIES');
    const ofAny = rules.queries.find(({ queryOwner }) => queryOwner === undefined);
    if (ofAny?.allow.includes('execute') !== true)
      return {
        parts: [{ ...NOTHING, grants: rightsOnEngine(evaluator, user, ofAll) }],
        inSystem: adjustKillQuery(false, kills),
        queries: ofSome,
      };
    const reader = new OutcomeReader(rules, patterns, (rule) => problemOf(rule) !== null);
    const isIncluded = ({ resource: { catalog } }: { resource: Node }): boolean =>
      catalog === undefined ? without.length === 0 : !without.includes(catalog);
    const roots = without.length === 0 && isOpen({}, settings) ? [{ resource: {}, below: nodes }] : nodes;
    const data = roots.filter(isIncluded).map((node) => accessOf(outcomes(reader, user, node, engine.fresh, unnamed)));
    const schemasOf = ({ resource: { catalog = '' }, below }: NamedNode): [string, string[]] => [
      catalog,
      below.flatMap(({ resource: { schema } }) => schema ?? []),
    ];
    const catalogs = { named: new Map(nodes.map(schemasOf)), fresh: engine.fresh };
    const routines = new RoutineRights(rules, evaluator, patterns, settings.metadataCatalog, catalogs);
    const ofRoutines = routines.rightsOf(user, data);
    const [onRoutines, notOnRoutines] = [ofRoutines.grants.filter(isIncluded), ofRoutines.denies.filter(isIncluded)];
    const ofSystem = { tables: engine.tables, fresh: engine.fresh, schemaNames: [...engine.schemaNames(SYSTEM)] };
    const calls = mayCallKillQuery(evaluator, user);
    const killing = adjustKillQuery(calls, kills);
    const inSystem = without.includes(SYSTEM) ? NOTHING : systemTables(reader, user, ofSystem);
    const inData = [...data.flatMap(({ grants }) => grants), ...onRoutines, ...(calls ? [CALL_KILL_QUERY] : [])];
    const executing = isUsedByStatements([...inData, ...inSystem.grants]) ? [] : (['EXECUTE_QUERIES'] as const);
    const onEngine = rightsOnEngine(evaluator, user, [...executing, ...ofAll]);
    const others = [...onRoutines, ...onEngine, ...killing.grants];
    const beside = adjustSystemAccess(inSystem, [...inData, ...onEngine]);
    return {
      parts: [...data, { ...NOTHING, grants: others, denies: notOnRoutines }],
      inSystem: { ...beside, denies: [...beside.denies, ...killing.denies] },
      queries: ofSome,
    };
  }
}

interface ImportedAccess {
  parts: UserAccess[];
  inSystem: Pick<UserAccess, 'grants' | 'denies'>;
  queries: UserQueries['ofSome'];
}

function isNothing({ parts, inSystem, queries }: ImportedAccess): boolean {
  return (
    [...parts, inSystem].every(({ grants, denies }) => grants.length + denies.length === 0) && queries.length === 0
  );
}

/** The rules about grantable rights that match a user. The key is equal for users whom the same rules match. */
function rulesFor(
  user: string,
  { catalogs, schemas, tables, queries, functions, procedures, system_information }: RulesDocument,
  patterns: PatternCache,
): { rules: RulesDocument; key: string } {
  const indexes: (number | string)[] = [];
  const own = <Rule extends { user?: string }>(rules: readonly Rule[]): Rule[] => {
    indexes.push('|');
    return rules.filter((rule, index) => {
      const isOwn = patterns.matches(rule.user, user);
      if (isOwn) indexes.push(index);
      return isOwn;
    });
  };
  const rules = {
    ...NO_RULES,
    catalogs: own(catalogs),
    schemas: own(schemas),
    tables: own(tables),
    queries: own(queries),
    functions: own(functions),
    procedures: own(procedures),
    system_information: own(system_information),
  };
  return { rules, key: indexes.join(',') };
}

function outcomes(
  reader: OutcomeReader,
  user: string,
  { resource, below }: NamedNode,
  fresh: string,
  unnamed: readonly (string | null)[],
): OutcomeNode {
  const { catalog, schema, table } = resource;
  const outcome =
    catalog !== undefined && schema !== undefined && table !== undefined
      ? reader.tableOutcome(user, { catalog, schema, table })
      : reader.unnamedOutcome(
          user,
          { catalog: catalog ?? fresh, schema: schema ?? fresh, table: fresh },
          levelOf(resource),
        );
  const isLeftOut = schema === undefined && unnamed.includes(catalog ?? null);
  const nodes = below.map((node) => outcomes(reader, user, node, fresh, unnamed));
  return { resource, outcome: isLeftOut ? NO_OUTCOME : outcome, below: nodes };
}

/** An engine principal and the users it may impersonate; `everyone` includes later accounts, without the listed exceptions. */
interface ActingUser {
  name: string;
  as: string[] | 'everyone';
  but: string[];
}

/** The engine principals that impersonate others. An impersonator is never a target itself. */
function actingUsers(document: RulesDocument, listed: readonly ListedUser[], patterns: PatternCache): ActingUser[] {
  if (document.impersonation.length === 0) return [];
  const evaluator = new Evaluator(document, patterns);
  const names = [...new Set(listed.map(({ name }) => name))].filter(canBeImpersonated);
  const engines = [...new Set(listed.filter(({ isEngine }) => isEngine === true).map(({ name }) => name))];
  const othersOf = (actor: string): string[] =>
    names.filter((name) => name !== actor && evaluator.mayImpersonate(actor, name));
  const actors = new Set(engines.filter((name) => othersOf(name).length > 0));
  const open = names.filter((name) => !actors.has(name));
  const isListed = new Set(names);
  // Later accounts are included only where all exceptions are spelled out and listed.
  const isForAnybody = (actor: string): boolean => {
    const about = document.impersonation.filter(({ original_user }) => patterns.matches(original_user, actor));
    const deciding = about.slice(0, about.findIndex(({ new_user }) => isAny(new_user)) + 1);
    const isOfListed = (text: string): boolean => {
      const language = patterns.language(text);
      return language.kind === 'names' && [...language.names].every((name) => isListed.has(name));
    };
    return deciding.at(-1)?.allow === true && deciding.every(({ allow, new_user }) => allow || isOfListed(new_user));
  };
  return [...actors].flatMap((name): ActingUser[] => {
    const as = othersOf(name).filter((other) => !actors.has(other));
    if (as.length === 0) return [];
    if (!isForAnybody(name)) return [{ name, as, but: [] }];
    return [{ name, as: 'everyone', but: open.filter((other) => !as.includes(other)) }];
  });
}

/** Rights on the engine itself. @param queries rights on queries of all users */
function rightsOnEngine(
  evaluator: Evaluator,
  user: string,
  queries: readonly (QueryPrivilege | 'EXECUTE_QUERIES')[],
): UserAccess['grants'] {
  const [reads, writes] = SYSTEM_INFORMATION_RIGHTS.map((right) => evaluator.mayWithSystemInformation(user, right));
  const had: Privilege[] = [
    ...queries,
    ...(reads ? (['READ_SYSTEM_INFORMATION'] as const) : []),
    ...(writes ? (['WRITE_SYSTEM_INFORMATION'] as const) : []),
  ];
  return had.length === 0 ? [] : [{ resource: { engine: true }, privileges: had }];
}

type QueryPrivilege = 'VIEW_QUERIES' | 'KILL_QUERIES';

interface UserQueries {
  ofAll: QueryPrivilege[];
  /** Rights on queries of these listed users; `isDenied`: exceptions from `ofAll`. */
  ofSome: { owners: string[]; privileges: QueryPrivilege[]; isDenied: boolean }[];
}

const RIGHTS = [
  ['view', 'VIEW_QUERIES'],
  ['kill', 'KILL_QUERIES'],
] as const;

/**
 * Rights on the queries of others, by the rules about one user. A right over all owners but some is only found if these are spelled out
 * and listed.
 */
function userQueries(
  { queries }: Pick<RulesDocument, 'queries'>,
  user: string,
  listed: readonly string[],
  patterns: PatternCache,
): UserQueries {
  const found: UserQueries = { ofAll: [], ofSome: [] };
  const about = queries.slice(0, queries.findIndex(({ queryOwner }) => isAny(queryOwner)) + 1);
  const evaluator = new Evaluator({ ...NO_RULES, queries }, patterns);
  const isListed = new Set(listed);
  for (const [right, privilege] of RIGHTS) {
    const refusing = about.filter(({ allow }) => !allow.includes(right));
    const isOfAll =
      about.length > 0 &&
      refusing.every(({ queryOwner }) => {
        const language = patterns.language(queryOwner);
        return language.kind === 'names' && [...language.names].every((name) => isListed.has(name));
      });
    if (isOfAll) found.ofAll.push(privilege);
    // Without a rule for some owners, a user has the right over all queries, or over none.
    if (queries.every(({ queryOwner }) => isAny(queryOwner))) continue;
    const owners = listed.filter((owner) => evaluator.mayWithQueries(user, right, owner) !== isOfAll);
    if (owners.length === 0) continue;
    const alike = found.ofSome.find((each) => each.isDenied === isOfAll && each.owners.join() === owners.join());
    if (alike === undefined) found.ofSome.push({ owners, privileges: [privilege], isDenied: isOfAll });
    else alike.privileges.push(privilege);
  }
  return found;
}
