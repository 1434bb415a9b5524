import type { Finding } from '../../trino-rules/document/finding.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { pathOf } from '../../trino-rules/engine/access-fact.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { everyKindOfName, namesAt, placeBelow } from '../../trino-rules/engine/rule-trie.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { checkInvariants } from '../../trino-rules/lint/invariants.js';
import { catalogMode, documentRule, type ForeignRule, type ForeignRules } from './foreign-rules.js';
import { isRegular, maxListedNames, regularPattern } from './foreign-language.js';
import type { ReadFor } from './lenient-reader.js';
import type { PlacedFinding } from './checks.js';

/** Accounts and catalogs that the invariants are checked for; empty lists and null: none. */
export interface ServiceSettings extends ReadFor {
  serviceAccounts: readonly string[];
  writableCatalogs: readonly string[];
  readableCatalogs: readonly string[];
  metadataCatalog: string | null;
  /** Catalogs in which tables can be made over the files of other tables. */
  externalTableCatalogs?: readonly string[];
  /** Catalogs whose tables also have columns with the whole raw row. */
  rawColumnCatalogs?: readonly string[];
}

const STEPS = 200_000_000;
const SECTIONS = ['catalogs', 'schemas', 'tables', 'functions', 'procedures', 'catalog_session_properties'] as const;

/**
 * Checks the invariants of service accounts. Members of groups are not known, so a rule for a group counts as giving service accounts
 * nothing, but as opening a catalog to somebody.
 */
export function fileInvariants(rules: ForeignRules, settings: ServiceSettings, at: number): PlacedFinding[] {
  const { serviceAccounts, metadataCatalog } = settings;
  if (serviceAccounts.length === 0 && metadataCatalog === null) return [];
  const undecided = (why: string): PlacedFinding[] => [
    { code: 'invariant-undecided', message: `the invariants of service accounts could not be checked: ${why}`, at },
  ];
  if (SECTIONS.some((section) => rules.get(section)?.some(({ isRefused }) => isRefused))) return [];
  const intricate = SECTIONS.flatMap((section) => rules.get(section) ?? []).find(({ patterns }) =>
    [...patterns.values()].some(({ text }) => !isRegular(text)),
  );
  if (intricate) return undecided(`${intricate.place} has a pattern that is not judged`);
  try {
    const closed = documentOf(rules, isForUsers, NO_RULES);
    const open = documentOf(rules, (rule) => isForUsers(rule) || isEntryForGroup(rule), {
      ...NO_RULES,
      catalogs: [{ allow: 'all' }],
    });
    const ofMetadata = ({ code }: Finding): boolean => code === 'invariant-metadata-catalog';
    const findings = [
      ...invariants(closed, { ...settings, metadataCatalog: null }),
      ...unreadable(closed, settings),
      ...invariants(open, { ...settings, writableCatalogs: [] }).filter(ofMetadata),
    ];
    return findings.map((finding) => placed(finding, rules, at));
  } catch (error) {
    if (error instanceof BudgetExceeded) return undecided('the rules are too intricate');
    throw error;
  }
}

function invariants(document: RulesDocument, settings: ServiceSettings): Finding[] {
  const isForAnybody = settings.metadataCatalog !== null;
  return checkInvariants(engineSets(document, settings, isForAnybody), settings);
}

function engineSets(document: RulesDocument, settings: ServiceSettings, isForAnybody: boolean): EngineSets {
  const patterns = new PatternCache(new WorkBudget(STEPS), regularPattern, maxListedNames);
  const users = new UserUniverse(settings.serviceAccounts, [document], patterns, isForAnybody);
  return new EngineSets(document, patterns, users);
}

function unreadable(document: RulesDocument, settings: ServiceSettings): Finding[] {
  const engine = engineSets(document, settings, false);
  const evaluator = new Evaluator(document, engine.patterns);
  const unnamed = everyKindOfName(engine.patterns);
  return settings.readableCatalogs.flatMap((catalog) => {
    const tables = [...namesAt(placeBelow(engine.schemaBranches(catalog)), unnamed)].flatMap((schema) =>
      [...namesAt(placeBelow([engine.tables.branch([catalog, schema])]), unnamed)].map((table) => ({
        catalog,
        schema,
        table,
      })),
    );
    return settings.serviceAccounts.flatMap((account): Finding[] => {
      engine.spend(tables.length * document.tables.length * STEPS_PER_MATCH);
      const closed = tables.find((table) => !evaluator.maySelect(account, table, []));
      if (closed === undefined) return [];
      const message = `${account} may not read ${pathOf(closed)}, of the readable catalog ${catalog}`;
      return [{ code: 'invariant-readable-catalog', severity: 'error', message }];
    });
  });
}

const STEPS_PER_MATCH = 20;

/** A document in which only the kept rules match anybody; all other rules keep their positions. */
function documentOf(
  rules: ForeignRules,
  isKept: (rule: ForeignRule) => boolean,
  whenAbsent: RulesDocument,
): RulesDocument {
  const section = <Name extends (typeof SECTIONS)[number]>(name: Name): RulesDocument[Name][number][] =>
    rules.get(name)?.map((rule) => {
      if (!isKept(rule)) return documentRule(name, { ...rule, patterns: new Map(), gives: [] }, { user: NOBODY });
      const user = rule.patterns.get('user')?.text;
      return documentRule(name, rule, user === undefined ? {} : { user });
    }) ?? whenAbsent[name];
  return { ...NO_RULES, ...Object.fromEntries(SECTIONS.map((name) => [name, section(name)])) };
}

/** A control character, which is in no name. */
const NOBODY = '\u0001';

function isForUsers({ patterns }: ForeignRule): boolean {
  return !patterns.has('group') && !patterns.has('role');
}

function isEntryForGroup(rule: ForeignRule): boolean {
  return rule.section === 'catalogs' && !rule.patterns.has('role') && catalogMode(rule) !== 'none';
}

function placed({ code, message, rule }: Finding, rules: ForeignRules, at: number): PlacedFinding {
  const found = [...rules.values()].flat().find(({ place }) => place === rule);
  const place = found && { rule: found.place, witness: found.text };
  return { code: code as PlacedFinding['code'], message, at: found?.at ?? at, ...place };
}
