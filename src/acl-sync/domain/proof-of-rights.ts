import type { Bits } from '../../grants/domain/bits.js';
import { canBeImpersonated } from '../../grants/domain/intent.js';
import type { IntentSets } from '../../grants/domain/intent-sets.js';
import type { Snapshot } from '../../grants/domain/snapshot.js';
import type { Differences } from './difference.js';
import type { EngineSets } from './engine-sets.js';
import { FRESH, type NameSpace } from './name-space.js';
import { RuleTrie } from './rule-trie.js';
import type { FunctionRule, ProcedureRule, RulesDocument } from './rules-document.js';

/** What the rights that belong to no table are proved with. */
export interface RightsCase {
  rules: RulesDocument;
  space: NameSpace;
  engine: EngineSets;
  intent: IntentSets;
  snapshot: Snapshot;
  differences: Differences;
}

/** Queries, impersonation, functions, procedures and session properties, for everybody (access model, sections 1 and 2). */
export function proveRights(given: RightsCase): void {
  proveQueries(given);
  proveImpersonation(given);
  proveRoutines(given, 'function');
  proveRoutines(given, 'procedure');
  proveSystemProperties(given);
  proveCatalogProperties(given);
}

/** Whoever reaches something may execute; nobody may view or kill another's query. */
function proveQueries({ rules, engine, intent, differences }: RightsCase): void {
  for (const right of ['execute', 'view', 'kill'] as const) {
    const may = decided(engine, rules.queries, ({ allow }) => allow.includes(right));
    differences.compare(
      { about: 'queries', right },
      may,
      right === 'execute' ? intent.reachesSomething : engine.nobody,
    );
  }
}

/** Only Grantline's own account becomes somebody else: an active person who can reach something. */
function proveImpersonation({ rules, space, engine, intent, snapshot, differences }: RightsCase): void {
  const { impersonation, ownAccount } = snapshot.settings;
  const own = engine.usersNamed(ownAccount);
  const { list, activePeople } = intent.subjects;
  const people = intent.reachesSomething.and(activePeople);
  const asRules = rules.impersonation.map((rule) => ({ user: rule.original_user, rule }));
  list.forEach(({ name: newUser }, position) => {
    const about = asRules.filter(({ rule }) => space.among(rule.new_user, [newUser]).length > 0);
    // The engine never asks whether somebody may become who they are.
    const others = engine.everybody.minus(engine.usersNamed(newUser));
    const may = decided(engine, about, ({ rule }) => rule.allow).and(others);
    const wanted = impersonation && people.has(position) && canBeImpersonated(newUser);
    differences.compare({ about: 'impersonation', newUser }, may, wanted ? own.and(others) : engine.nobody);
  });
}

/** Functions and procedures of connectors are nobody's: `system.query` would walk around filters and masks. */
function proveRoutines({ rules, space, engine, differences }: RightsCase, kind: 'function' | 'procedure'): void {
  const section: (FunctionRule | ProcedureRule)[] = kind === 'function' ? rules.functions : rules.procedures;
  const trie = new RuleTrie();
  section.forEach((rule, i) => {
    const name = 'function' in rule ? rule.function : 'procedure' in rule ? rule.procedure : undefined;
    trie.add(i, [space.step(rule.catalog), space.step(rule.schema), space.step(name)]);
  });
  for (const catalog of [...trie.names([]), FRESH]) {
    const modes = engine.modes(catalog);
    const readers = modes.all.or(modes.readOnly);
    for (const schema of [...trie.names([catalog]), FRESH]) {
      for (const name of [...trie.names([catalog, schema]), FRESH]) {
        for (const privilege of ['EXECUTE', 'GRANT_EXECUTE', 'OWNERSHIP'] as const) {
          let may = engine.nobody;
          engine.walk(trie.at([catalog, schema, name]), section, ({ privileges }, hit) => {
            if (privileges.some((each) => each === privilege)) may = may.or(hit);
          });
          const place = { catalog, schema };
          differences.compare({ about: 'routine', kind, place, name, privilege }, may.and(readers), engine.nobody);
        }
      }
    }
  }
}

const MARKER = 'grantline_rules_';

/** The marker is the own account's; else service accounts may set everything, insiders what the settings list. */
function proveSystemProperties({ rules, space, engine, intent, snapshot, differences }: RightsCase): void {
  const section = rules.system_session_properties;
  const { ownAccount, sessionProperties } = snapshot.settings;
  const spelled = section.flatMap(({ property }) => [...space.spelled(property)]);
  const live = section.find(({ property, allow }) => allow && property?.startsWith(MARKER) === true)?.property;
  for (const property of new Set([...spelled, ...sessionProperties, MARKER + FRESH, FRESH])) {
    const about = section.filter((rule) => space.among(rule.property, [property]).length > 0);
    const may = decided(engine, about, ({ allow }) => allow);
    const { serviceAccounts } = intent.subjects;
    const wanted = (): Bits => {
      if (property.startsWith(MARKER)) return property === live ? engine.usersNamed(ownAccount) : engine.nobody;
      return sessionProperties.includes(property) ? serviceAccounts.or(intent.reachesSomething) : serviceAccounts;
    };
    differences.compare({ about: 'session-property', property, catalog: null }, may, wanted());
  }
}

/** Properties of a catalog: for the service accounts, where they may enter by the settings. */
function proveCatalogProperties({ rules, space, engine, intent, snapshot, differences }: RightsCase): void {
  const section = rules.catalog_session_properties;
  const { writableCatalogs, readableCatalogs, metadataCatalog } = snapshot.settings;
  const theirs = new Set(
    [...writableCatalogs, ...readableCatalogs].filter((name) => name !== metadataCatalog && name !== 'system'),
  );
  const catalogs = new Set([
    ...section.flatMap(({ catalog }) => [...space.spelled(catalog)]),
    ...theirs,
    'system',
    FRESH,
  ]);
  const properties = new Set([...section.flatMap(({ property }) => [...space.spelled(property)]), FRESH]);
  for (const catalog of catalogs) {
    const modes = engine.modes(catalog);
    for (const property of properties) {
      const about = section.filter(
        (rule) => space.among(rule.catalog, [catalog]).length > 0 && space.among(rule.property, [property]).length > 0,
      );
      const may = decided(engine, about, ({ allow }) => allow).and(modes.all.or(modes.readOnly));
      const wanted = theirs.has(catalog) ? intent.subjects.serviceAccounts : engine.nobody;
      differences.compare({ about: 'session-property', property, catalog }, may, wanted);
    }
  }
}

function decided<Rule extends { user?: string | undefined }>(
  engine: EngineSets,
  rules: readonly Rule[],
  gives: (rule: Rule) => boolean,
): Bits {
  let may = engine.nobody;
  engine.walk([...rules.keys()], rules, (rule, hit) => {
    if (gives(rule)) may = may.or(hit);
  });
  return may;
}
