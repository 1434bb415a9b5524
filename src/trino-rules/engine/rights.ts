import {
  type CatalogSessionPropertyRule,
  FUNCTION_PRIVILEGES,
  type FunctionRule,
  MARKER_PREFIX,
  patternOf,
  type ProcedureRule,
  QUERY_RIGHTS,
  SYSTEM_INFORMATION_RIGHTS,
} from '../document/rules-document.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { Node } from '../model/node.js';
import type { RightQuestion, RoutineQuestion } from '../model/question.js';
import { ANY_USER, type UsersByCatalogMode, type EngineSets, rulesAt } from './engine-sets.js';
import { wordAt, type Bitset } from './sparse-bitset.js';
import { namesAt, type NameLevel, nameLevelOf, type NameChooser } from './rule-trie.js';

export type Right = Exclude<RightQuestion, { about: 'catalog-mode' }> | RoutineQuestion;

/**
 * The rights that a full comparison asks about: rights on each name in a rule, and on invented names that stand for all other names.
 * @param extraQuestions further session properties and nodes to ask about; `asksOwners`: ask about the queries of each owner
 */
export function* everyRight(
  engineSets: readonly EngineSets[],
  extraQuestions: { sessionProperties: readonly string[]; routines: readonly Node[]; asksOwners: boolean },
  chooseNames: NameChooser,
): Iterable<Right> {
  yield* rightsOnQueries(engineSets, extraQuestions.asksOwners);
  for (const right of SYSTEM_INFORMATION_RIGHTS) yield { about: 'system-information', right };
  for (const newUser of new Set(engineSets.flatMap(({ universe }) => universe.names())))
    yield { about: 'impersonation', newUser };
  const catalogs = catalogNameLevel(engineSets);
  yield* routineRights(engineSets, 'function', catalogs, extraQuestions.routines, chooseNames);
  yield* routineRights(engineSets, 'procedure', catalogs, extraQuestions.routines, chooseNames);
  const systemProperties = new Set([
    ...namesAt(propertyNameLevel(engineSets, 'system_session_properties', 'property'), chooseNames),
    ...extraQuestions.sessionProperties,
    ...engineSets.map(({ freshName }) => MARKER_PREFIX + freshName),
  ]);
  for (const property of systemProperties) yield { about: 'session-property', property, catalog: null };
  const properties = namesAt(propertyNameLevel(engineSets, 'catalog_session_properties', 'property'), chooseNames);
  for (const catalog of namesAt(catalogs, chooseNames)) {
    for (const property of properties) {
      yield { about: 'session-property', property, catalog };
    }
  }
}

const COST_PER_PATTERN = 40;
const COST_PER_RULE = 5;

/** Users with a right. Owners of the queries and the impersonated user are left out, because the engine gives them this right without a rule. */
export function holders(engine: EngineSets, right: Right): Bitset {
  const { rules, patterns, universe, freshName } = engine;
  switch (right.about) {
    case 'queries': {
      // If the question names no owner, only rules for all owners can decide.
      const ownerPositions = right.owner === undefined ? [] : universe.positionsOf(right.owner);
      const owners = right.right === 'execute' ? [] : ownerPositions;
      return withoutUsersAt(
        engine.usersAllowedByFirstMatch(rulesForUsers(engine, rules.queries, 'queryOwner', owners), ({ allow }) =>
          allow.includes(right.right),
        ),
        ownerPositions,
      );
    }
    case 'system-information':
      return engine.usersAllowedByFirstMatch(rules.system_information, ({ allow }) => allow.includes(right.right));
    case 'impersonation': {
      const positions = universe.positionsOf(right.newUser);
      const impersonationRules = rulesForUsers(engine, rules.impersonation, 'new_user', positions).map(
        ({ original_user, allow }) => ({ user: original_user, allow }),
      );
      return withoutUsersAt(
        engine.usersAllowedByFirstMatch(impersonationRules, ({ allow }) => allow),
        positions,
      );
    }
    case 'routine': {
      const { catalog = freshName, schema = freshName, routine = freshName } = right.resource;
      const path = [catalog, schema, routine];
      const section = `${right.kind}s` as const;
      const matchingRules = rulesAt<FunctionRule | ProcedureRule>(rules[section], engine[section].rulesMatching(path));
      const sufficientPrivileges = right.privilege === 'EXECUTE' ? ['EXECUTE', 'GRANT_EXECUTE'] : [right.privilege];
      const allowedUsers = engine.usersAllowedByFirstMatch(matchingRules, ({ privileges }) =>
        privileges.some((each) => sufficientPrivileges.includes(each)),
      );
      return withCatalogAccess(allowedUsers, engine.usersByMode(catalog));
    }
    case 'session-property': {
      const { catalog, property } = right;
      const section: readonly CatalogSessionPropertyRule[] =
        catalog === null ? rules.system_session_properties : rules.catalog_session_properties;
      engine.spend(section.length * COST_PER_PATTERN);
      const matchingRules = section.filter(
        (rule) => patterns.matches(rule.catalog, catalog ?? '') && patterns.matches(rule.property, property),
      );
      const allowedUsers = engine.usersAllowedByFirstMatch(matchingRules, ({ allow }) => allow);
      return catalog === null ? allowedUsers : withCatalogAccess(allowedUsers, engine.usersByMode(catalog));
    }
  }
}

/** Rules whose pattern under `key` matches any of these users, and rules without the pattern, which apply to all users. */
function rulesForUsers<Rule extends object>(
  engine: EngineSets,
  rules: readonly Rule[],
  key: keyof Rule & string,
  positions: readonly number[],
): Rule[] {
  const indexesByUser = engine.rulesByUser(rules, key);
  const ruleIndexes = new Set([ANY_USER, ...positions].flatMap((position) => indexesByUser.get(position) ?? []));
  engine.spend(ruleIndexes.size * COST_PER_RULE);
  return [...ruleIndexes].sort((a, b) => a - b).flatMap((index) => rules[index] ?? []);
}

/** The rights over queries to compare. `view` and `kill` are separate for each owner if `asksOwners`, or if any rule is limited to some owners. */
function* rightsOnQueries(engineSets: readonly EngineSets[], asksOwners: boolean): Iterable<Right> {
  const listsEachOwner =
    asksOwners || engineSets.some(({ rules }) => rules.queries.some(({ queryOwner }) => queryOwner !== undefined));
  const owners = listsEachOwner ? new Set(engineSets.flatMap(({ universe }) => universe.names())) : [undefined];
  yield { about: 'queries', right: 'execute' };
  for (const right of QUERY_RIGHTS) {
    if (right !== 'execute') for (const owner of owners) yield { about: 'queries', right, owner };
  }
}

function withoutUsersAt(users: Bitset, positions: readonly number[]): Bitset {
  for (const position of positions) users[position >>> 5] = wordAt(users, position >>> 5) & ~(1 << (position & 31));
  return users;
}

function* routineRights(
  engineSets: readonly EngineSets[],
  kind: 'function' | 'procedure',
  catalogs: NameLevel,
  additionalNodes: readonly Node[],
  chooseNames: NameChooser,
): Iterable<Right> {
  const ruleTries = engineSets.map((engine) => engine[`${kind}s` as const]);
  const namesByParent = namesByPath(additionalNodes);
  const levelBelow = (...path: string[]): NameLevel => {
    const level = nameLevelOf(ruleTries.map((trie) => trie.branch(path)));
    return { ...level, names: [...level.names, ...(namesByParent.get(path.join('\0')) ?? [])] };
  };
  for (const catalog of namesAt(mergeNameLevels([levelBelow(), catalogs]), chooseNames)) {
    for (const schema of namesAt(levelBelow(catalog), chooseNames)) {
      for (const routine of namesAt(levelBelow(catalog, schema), chooseNames)) {
        for (const privilege of FUNCTION_PRIVILEGES) {
          yield { about: 'routine', kind, resource: { catalog, schema, routine }, privilege };
        }
      }
    }
  }
}

/** Names of catalogs, of schemas and of routines, each by the path of the parent node. */
function namesByPath(nodes: readonly Node[]): ReadonlyMap<string, ReadonlySet<string>> {
  const namesByParent = new Map<string, Set<string>>();
  for (const { catalog, schema, routine } of nodes) {
    const path = [catalog, schema, routine].filter((name) => name !== undefined);
    path.forEach((name, i) =>
      getOrInsert(namesByParent, path.slice(0, i).join('\0'), () => new Set<string>()).add(name),
    );
  }
  return namesByParent;
}

function catalogNameLevel(engineSets: readonly EngineSets[]): NameLevel {
  const branches = engineSets.map(({ catalogs }) => catalogs.branch([]));
  const systemLevel: NameLevel = { nameKind: 'object', openPatterns: [], names: ['system'] };
  return mergeNameLevels([
    nameLevelOf(branches),
    propertyNameLevel(engineSets, 'catalog_session_properties', 'catalog'),
    systemLevel,
  ]);
}

function propertyNameLevel(
  engineSets: readonly EngineSets[],
  section: 'system_session_properties' | 'catalog_session_properties',
  field: 'catalog' | 'property',
): NameLevel {
  const patternTexts = engineSets.flatMap(({ rules, patterns }) =>
    rules[section].map((rule) => ({ patterns, text: patternOf(rule, field) })),
  );
  return {
    nameKind: field === 'catalog' ? 'object' : 'any',
    names: patternTexts.flatMap(({ patterns, text }) => [...patterns.spelledNames(text)]),
    openPatterns: patternTexts.flatMap(({ patterns, text }) => {
      const language = patterns.language(text);
      return language.kind === 'open' ? [language.pattern] : [];
    }),
  };
}

function mergeNameLevels(levels: readonly [NameLevel, ...NameLevel[]]): NameLevel {
  return {
    nameKind: levels[0].nameKind,
    names: levels.flatMap(({ names }) => [...names]),
    openPatterns: levels.flatMap(({ openPatterns }) => [...openPatterns]),
  };
}

function withCatalogAccess(users: Bitset, { all, readOnly }: UsersByCatalogMode): Bitset {
  return users.map((word, index) => word & (wordAt(all, index) | wordAt(readOnly, index)));
}
