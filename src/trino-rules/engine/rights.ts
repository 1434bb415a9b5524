import type { AccessFact } from './access-fact.js';
import type { CatalogModes, EngineSets } from './engine-sets.js';
import { hasMember, wordAt, type Bitset } from './sparse-bitset.js';

/** The session property of the version in force is called this, before its hash. */
export const MARKER = 'grantline_rules_';

/** What belongs to no table: queries, impersonation, routines, session properties. */
export type Right = Extract<AccessFact, { about: 'queries' | 'impersonation' | 'routine' | 'session-property' }>;

/**
 * Every question about rights that these rules could answer differently: each name that one of them spells out, and a
 * fresh one, at every level.
 * @param asked names of system session properties to ask about besides
 */
export function* everyRight(engines: readonly EngineSets[], asked: readonly string[]): Iterable<Right> {
  for (const right of ['execute', 'view', 'kill'] as const) yield { about: 'queries', right };
  for (const newUser of new Set(engines.flatMap(({ people }) => people.names())))
    yield { about: 'impersonation', newUser };
  yield* routines(engines, 'function');
  yield* routines(engines, 'procedure');
  const systemProperties = new Set([
    ...spelled(engines, 'system_session_properties'),
    ...asked,
    ...engines.map(({ fresh }) => MARKER + fresh),
  ]);
  for (const property of systemProperties) yield { about: 'session-property', property, catalog: null };
  const properties = spelled(engines, 'catalog_session_properties');
  for (const catalog of catalogs(engines)) {
    for (const property of properties) {
      yield { about: 'session-property', property, catalog };
    }
  }
}

/** To try a pattern on a name. */
const STEPS_PER_PATTERN = 40;

/** Users with a right. Impersonation of oneself is never asked about. */
export function holders(engine: EngineSets, right: Right): Bitset {
  const { rules, patterns, people, fresh } = engine;
  switch (right.about) {
    case 'queries':
      return engine.first(rules.queries, ({ allow }) => allow.includes(right.right));
    case 'impersonation': {
      const positions = people.named(right.newUser);
      engine.spend(rules.impersonation.length * STEPS_PER_PATTERN);
      const about = rules.impersonation.filter(({ new_user }) => {
        const members = people.matching(new_user);
        return positions.some((position) => hasMember(members, position));
      });
      const asked = about.map(({ original_user, allow }) => ({ user: original_user, allow }));
      const may = engine.first(asked, ({ allow }) => allow);
      for (const position of positions) may[position >>> 5] = wordAt(may, position >>> 5) & ~(1 << (position & 31));
      return may;
    }
    case 'routine': {
      const { catalog, schema = fresh } = right.resource;
      const path = [catalog, schema, right.name];
      const about =
        right.kind === 'function'
          ? engine.functions.at(path).flatMap((index) => rules.functions[index] ?? [])
          : engine.procedures.at(path).flatMap((index) => rules.procedures[index] ?? []);
      const giving = right.privilege === 'EXECUTE' ? ['EXECUTE', 'GRANT_EXECUTE'] : [right.privilege];
      const may = engine.first(about, ({ privileges }) => privileges.some((each) => giving.includes(each)));
      return within(may, engine.modes(catalog));
    }
    case 'session-property': {
      const { catalog, property } = right;
      const section = catalog === null ? rules.system_session_properties : rules.catalog_session_properties;
      engine.spend(section.length * STEPS_PER_PATTERN);
      if (catalog === null) {
        const about = rules.system_session_properties.filter((rule) => patterns.matches(rule.property, property));
        return engine.first(about, ({ allow }) => allow);
      }
      const about = rules.catalog_session_properties.filter(
        (rule) => patterns.matches(rule.catalog, catalog) && patterns.matches(rule.property, property),
      );
      return within(
        engine.first(about, ({ allow }) => allow),
        engine.modes(catalog),
      );
    }
  }
}

function* routines(engines: readonly EngineSets[], kind: 'function' | 'procedure'): Iterable<Right> {
  const tries = engines.map(({ functions, procedures }) => (kind === 'function' ? functions : procedures));
  const below = (...path: string[]): Set<string> =>
    new Set([...tries.flatMap((trie) => [...trie.branch(path).names()]), ...freshNames(engines)]);
  for (const catalog of new Set([...below(), ...catalogs(engines)])) {
    for (const schema of below(catalog)) {
      for (const name of below(catalog, schema)) {
        for (const privilege of ['EXECUTE', 'GRANT_EXECUTE', 'OWNERSHIP'] as const) {
          yield { about: 'routine', kind, resource: { catalog, schema }, name, privilege };
        }
      }
    }
  }
}

function catalogs(engines: readonly EngineSets[]): Set<string> {
  const named = engines.flatMap(({ catalogs, rules, patterns }) => [
    ...catalogs.branch([]).names(),
    ...rules.catalog_session_properties.flatMap(({ catalog }) => [...patterns.spelled(catalog)]),
  ]);
  return new Set([...named, 'system', ...freshNames(engines)]);
}

function spelled(
  engines: readonly EngineSets[],
  section: 'system_session_properties' | 'catalog_session_properties',
): Set<string> {
  const named = engines.flatMap(({ rules, patterns }) =>
    rules[section].flatMap(({ property }) => [...patterns.spelled(property)]),
  );
  return new Set([...named, ...freshNames(engines)]);
}

function freshNames(engines: readonly EngineSets[]): string[] {
  return engines.map(({ fresh }) => fresh);
}

/** The users of a set that may enter the catalog at all. */
function within(may: Bitset, { all, readOnly }: CatalogModes): Bitset {
  return may.map((word, index) => word & (wordAt(all, index) | wordAt(readOnly, index)));
}
