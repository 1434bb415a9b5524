import {
  type CatalogSessionPropertyRule,
  FUNCTION_PRIVILEGES,
  type FunctionRule,
  MARKER,
  patternOf,
  type ProcedureRule,
  QUERY_RIGHTS,
  SYSTEM_INFORMATION_RIGHTS,
} from '../document/rules-document.js';
import { getOrInsert } from '../../kernel/collections.js';
import type { Node } from '../model/node.js';
import type { RightQuestion, RoutineQuestion } from '../model/question.js';
import { ANY_USER, type CatalogModes, type EngineSets, pick } from './engine-sets.js';
import { wordAt, type Bitset } from './sparse-bitset.js';
import { namesAt, type Place, placeBelow, type Unnamed } from './rule-trie.js';

export type Right = Exclude<RightQuestion, { about: 'catalog-mode' }> | RoutineQuestion;

/**
 * All questions about rights that these rules could answer differently: for each name that a rule spells out, and for unnamed ones.
 * @param asked further system session properties, further nodes of routines or above, and whether to ask about each owner's queries
 */
export function* everyRight(
  engines: readonly EngineSets[],
  asked: { properties: readonly string[]; routines: readonly Node[]; isByOwner?: boolean },
  unnamed: Unnamed,
): Iterable<Right> {
  yield* rightsOnQueries(engines, asked.isByOwner ?? false);
  for (const right of SYSTEM_INFORMATION_RIGHTS) yield { about: 'system-information', right };
  for (const newUser of new Set(engines.flatMap(({ people }) => people.names())))
    yield { about: 'impersonation', newUser };
  const catalogs = placeOfCatalogs(engines);
  yield* routines(engines, 'function', catalogs, asked.routines, unnamed);
  yield* routines(engines, 'procedure', catalogs, asked.routines, unnamed);
  const systemProperties = new Set([
    ...namesAt(placeOf(engines, 'system_session_properties', 'property'), unnamed),
    ...asked.properties,
    ...engines.map(({ fresh }) => MARKER + fresh),
  ]);
  for (const property of systemProperties) yield { about: 'session-property', property, catalog: null };
  const properties = namesAt(placeOf(engines, 'catalog_session_properties', 'property'), unnamed);
  for (const catalog of namesAt(catalogs, unnamed)) {
    for (const property of properties) {
      yield { about: 'session-property', property, catalog };
    }
  }
}

const STEPS_PER_PATTERN = 40;
const STEPS_PER_RULE = 5;

/** Users with a right. Impersonation of oneself and rights on one's own queries are never asked about. */
export function holders(engine: EngineSets, right: Right): Bitset {
  const { rules, patterns, people, fresh } = engine;
  switch (right.about) {
    case 'queries': {
      // For an unknown owner, only rules about all owners decide.
      const positions = right.owner === undefined ? [] : people.named(right.owner);
      const owners = right.right === 'execute' ? [] : positions;
      return without(
        engine.first(rulesAbout(engine, rules.queries, 'queryOwner', owners), ({ allow }) =>
          allow.includes(right.right),
        ),
        positions,
      );
    }
    case 'system-information':
      return engine.first(rules.system_information, ({ allow }) => allow.includes(right.right));
    case 'impersonation': {
      const positions = people.named(right.newUser);
      const asked = rulesAbout(engine, rules.impersonation, 'new_user', positions).map(({ original_user, allow }) => ({
        user: original_user,
        allow,
      }));
      return without(
        engine.first(asked, ({ allow }) => allow),
        positions,
      );
    }
    case 'routine': {
      const { catalog = fresh, schema = fresh, routine = fresh } = right.resource;
      const path = [catalog, schema, routine];
      const section = `${right.kind}s` as const;
      const about = pick<FunctionRule | ProcedureRule>(rules[section], engine[section].at(path));
      const giving = right.privilege === 'EXECUTE' ? ['EXECUTE', 'GRANT_EXECUTE'] : [right.privilege];
      const may = engine.first(about, ({ privileges }) => privileges.some((each) => giving.includes(each)));
      return within(may, engine.modes(catalog));
    }
    case 'session-property': {
      const { catalog, property } = right;
      const section: readonly CatalogSessionPropertyRule[] =
        catalog === null ? rules.system_session_properties : rules.catalog_session_properties;
      engine.spend(section.length * STEPS_PER_PATTERN);
      const about = section.filter(
        (rule) => patterns.matches(rule.catalog, catalog ?? '') && patterns.matches(rule.property, property),
      );
      const may = engine.first(about, ({ allow }) => allow);
      return catalog === null ? may : within(may, engine.modes(catalog));
    }
  }
}

/** Rules whose pattern under `key` matches any of these users, and rules without one, which are about all users. */
function rulesAbout<Rule extends object>(
  engine: EngineSets,
  rules: readonly Rule[],
  key: keyof Rule & string,
  positions: readonly number[],
): Rule[] {
  const byUser = engine.rulesByUser(rules, key);
  const indexes = new Set([ANY_USER, ...positions].flatMap((position) => byUser.get(position) ?? []));
  engine.spend(indexes.size * STEPS_PER_RULE);
  return [...indexes].sort((a, b) => a - b).flatMap((index) => rules[index] ?? []);
}

/** Questions about queries: for each owner if a rule is about the queries of some owners. */
function* rightsOnQueries(engines: readonly EngineSets[], isAsked: boolean): Iterable<Right> {
  const isByOwner =
    isAsked || engines.some(({ rules }) => rules.queries.some(({ queryOwner }) => queryOwner !== undefined));
  const owners = isByOwner ? new Set(engines.flatMap(({ people }) => people.names())) : [undefined];
  yield { about: 'queries', right: 'execute' };
  for (const right of QUERY_RIGHTS) {
    if (right !== 'execute') for (const owner of owners) yield { about: 'queries', right, owner };
  }
}

function without(users: Bitset, positions: readonly number[]): Bitset {
  for (const position of positions) users[position >>> 5] = wordAt(users, position >>> 5) & ~(1 << (position & 31));
  return users;
}

function* routines(
  engines: readonly EngineSets[],
  kind: 'function' | 'procedure',
  catalogs: Place,
  asked: readonly Node[],
  unnamed: Unnamed,
): Iterable<Right> {
  const tries = engines.map((engine) => engine[`${kind}s` as const]);
  const named = namesByPath(asked);
  const below = (...path: string[]): Place => {
    const place = placeBelow(tries.map((trie) => trie.branch(path)));
    return { ...place, names: [...place.names, ...(named.get(path.join('\0')) ?? [])] };
  };
  for (const catalog of namesAt(together([below(), catalogs]), unnamed)) {
    for (const schema of namesAt(below(catalog), unnamed)) {
      for (const routine of namesAt(below(catalog, schema), unnamed)) {
        for (const privilege of FUNCTION_PRIVILEGES) {
          yield { about: 'routine', kind, resource: { catalog, schema, routine }, privilege };
        }
      }
    }
  }
}

/** Names of the next level, by the path above. */
function namesByPath(nodes: readonly Node[]): ReadonlyMap<string, ReadonlySet<string>> {
  const named = new Map<string, Set<string>>();
  for (const { catalog, schema, routine } of nodes) {
    const path = [catalog, schema, routine].filter((name) => name !== undefined);
    path.forEach((name, i) => getOrInsert(named, path.slice(0, i).join('\0'), () => new Set<string>()).add(name));
  }
  return named;
}

function placeOfCatalogs(engines: readonly EngineSets[]): Place {
  const branches = engines.map(({ catalogs }) => catalogs.branch([]));
  const system: Place = { kind: 'object', openPatterns: [], names: ['system'] };
  return together([placeBelow(branches), placeOf(engines, 'catalog_session_properties', 'catalog'), system]);
}

function placeOf(
  engines: readonly EngineSets[],
  section: 'system_session_properties' | 'catalog_session_properties',
  field: 'catalog' | 'property',
): Place {
  const texts = engines.flatMap(({ rules, patterns }) =>
    rules[section].map((rule) => ({ patterns, text: patternOf(rule, field) })),
  );
  return {
    kind: field === 'catalog' ? 'object' : 'any',
    names: texts.flatMap(({ patterns, text }) => [...patterns.spelled(text)]),
    openPatterns: texts.flatMap(({ patterns, text }) => {
      const language = patterns.language(text);
      return language.kind === 'open' ? [language.pattern] : [];
    }),
  };
}

function together(places: readonly [Place, ...Place[]]): Place {
  return {
    kind: places[0].kind,
    names: places.flatMap(({ names }) => [...names]),
    openPatterns: places.flatMap(({ openPatterns }) => [...openPatterns]),
  };
}

/** The users of a set who may enter the catalog. */
function within(may: Bitset, { all, readOnly }: CatalogModes): Bitset {
  return may.map((word, index) => word & (wordAt(all, index) | wordAt(readOnly, index)));
}
