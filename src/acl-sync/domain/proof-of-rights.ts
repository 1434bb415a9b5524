import { Bits } from '../../grants/domain/bits.js';
import { canBeImpersonated } from '../../grants/domain/intent.js';
import type { IntentSets } from '../../grants/domain/intent-sets.js';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Differences } from './difference.js';
import type { CatalogModes, EngineSets } from './engine-sets.js';
import { FRESH } from './name-space.js';
import { wordAt, type Words } from './people-set.js';
import { RuleTrie } from './rule-trie.js';

/** Queries, impersonation, functions, procedures and session properties, for everybody (access model, sections 1 and 2). */
export function proveRights(
  engine: EngineSets,
  intent: IntentSets,
  snapshot: Snapshot,
  differences: Differences,
): void {
  const given = { engine, intent, snapshot, differences };
  proveQueries(given);
  proveImpersonation(given);
  proveRoutines(given, 'function');
  proveRoutines(given, 'procedure');
  proveSystemProperties(given);
  proveCatalogProperties(given);
}

interface RightsCase {
  engine: EngineSets;
  intent: IntentSets;
  snapshot: Snapshot;
  differences: Differences;
}

/** Whoever reaches something may execute; nobody may view or kill another's query. */
function proveQueries({ engine, intent, differences }: RightsCase): void {
  for (const right of ['execute', 'view', 'kill'] as const) {
    const may = engine.first(engine.rules.queries, ({ allow }) => allow.includes(right));
    const wanted = right === 'execute' ? intent.reachesSomething : null;
    differences.compare(() => ({ about: 'queries', right }), engine.everyWord, may, wanted);
  }
}

/** Only Grantline's own account becomes somebody else: an active person who can reach something. */
function proveImpersonation({ engine, intent, snapshot, differences }: RightsCase): void {
  const { rules, space, people: everybody } = engine;
  const { impersonation, ownAccount } = snapshot.settings;
  const { list, activePeople, none } = intent.subjects;
  const own = everybody.named(ownAccount);
  const people = intent.reachesSomething.and(activePeople);
  const asked = rules.impersonation.map(({ original_user, new_user, allow }) => ({
    user: original_user,
    new_user,
    allow,
  }));
  list.forEach(({ name: newUser }, position) => {
    const may = engine.first(
      asked.filter(({ new_user }) => space.means(new_user, newUser)),
      ({ allow }) => allow,
    );
    // The engine never asks whether somebody may become who they are.
    const others = engine.allBut(newUser);
    const wanted = impersonation && people.has(position) && canBeImpersonated(newUser);
    const aspect = () => ({ about: 'impersonation', newUser }) as const;
    differences.compare(aspect, engine.everyWord, may, wanted ? Bits.of(list.length, own) : none, others);
  });
}

/** Functions and procedures of connectors are nobody's: `system.query` would walk around filters and masks. */
function proveRoutines({ engine, differences }: RightsCase, kind: 'function' | 'procedure'): void {
  const { rules, space } = engine;
  const section =
    kind === 'function'
      ? rules.functions.map((rule) => ({ ...rule, name: rule.function }))
      : rules.procedures.map((rule) => ({ ...rule, name: rule.procedure }));
  const trie = new RuleTrie();
  section.forEach((rule, i) =>
    trie.add(
      i,
      [rule.catalog, rule.schema, rule.name].map((each) => space.meaning(each)),
    ),
  );
  const below = (...path: string[]): Iterable<string> => trie.branch(path).names().add(FRESH);
  const catalogs = [engine.catalogs, engine.tables].flatMap((each) => [...each.branch([]).names()]);
  for (const catalog of new Set([...below(), ...catalogs, 'system'])) {
    const readers = union(engine.modes(catalog));
    for (const schema of below(catalog)) {
      for (const name of below(catalog, schema)) {
        const about = trie.at([catalog, schema, name]).flatMap((index) => section[index] ?? []);
        for (const privilege of ['EXECUTE', 'GRANT_EXECUTE', 'OWNERSHIP'] as const) {
          const may = engine.first(about, ({ privileges }) => privileges.some((each) => each === privilege));
          const aspect = () => ({ about: 'routine', kind, place: { catalog, schema }, name, privilege }) as const;
          differences.compare(aspect, engine.everyWord, may, null, readers);
        }
      }
    }
  }
}

export const MARKER = 'grantline_rules_';

/** The marker is the own account's; else service accounts may set everything, insiders what the settings list. */
function proveSystemProperties({ engine, intent, snapshot, differences }: RightsCase): void {
  const { rules, space, people } = engine;
  const section = rules.system_session_properties;
  const { ownAccount, sessionProperties } = snapshot.settings;
  const { serviceAccounts, list, none } = intent.subjects;
  const spelled = section.flatMap(({ property }) => [...space.spelled(property)]);
  const live = section.find(({ property, allow }) => allow && property?.startsWith(MARKER) === true)?.property;
  for (const property of new Set([...spelled, ...sessionProperties, MARKER + FRESH, FRESH])) {
    const about = section.filter((rule) => space.means(rule.property, property));
    const may = engine.first(about, ({ allow }) => allow);
    const wanted = (): Bits => {
      if (property.startsWith(MARKER)) return property === live ? Bits.of(list.length, people.named(ownAccount)) : none;
      return sessionProperties.includes(property) ? serviceAccounts.or(intent.reachesSomething) : serviceAccounts;
    };
    const aspect = () => ({ about: 'session-property', property, catalog: null }) as const;
    differences.compare(aspect, engine.everyWord, may, wanted());
  }
}

/** Properties of a catalog: for the service accounts, where they may enter by the settings. */
function proveCatalogProperties({ engine, intent, snapshot, differences }: RightsCase): void {
  const { rules, space } = engine;
  const section = rules.catalog_session_properties;
  const { writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
  const closed = [metadataCatalog, 'system'];
  const theirs = new Set([...writableCatalogs, ...readableCatalogs].filter((name) => !closed.includes(name)));
  const spelled = section.flatMap(({ catalog }) => [...space.spelled(catalog)]);
  const catalogs = new Set([...spelled, ...engine.catalogs.branch([]).names(), ...theirs, 'system', FRESH]);
  const properties = new Set([...section.flatMap(({ property }) => [...space.spelled(property)]), FRESH]);
  for (const catalog of catalogs) {
    const readers = union(engine.modes(catalog));
    for (const property of properties) {
      const about = section.filter(
        (rule) => space.means(rule.catalog, catalog) && space.means(rule.property, property),
      );
      const may = engine.first(about, ({ allow }) => allow);
      const wanted = theirs.has(catalog) ? intent.subjects.serviceAccounts : null;
      const aspect = () => ({ about: 'session-property', property, catalog }) as const;
      differences.compare(aspect, engine.everyWord, may, wanted, readers);
    }
  }
}

/** Those who may enter a catalog at all. */
function union({ all, readOnly }: CatalogModes): Words {
  return all.map((word, index) => word | wordAt(readOnly, index));
}
