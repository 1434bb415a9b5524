import type { Finding } from '../../trino-rules/document/finding.js';
import { PatternCache } from '../../trino-rules/document/pattern-cache.js';
import { NO_RULES, type RulesDocument } from '../../trino-rules/document/rules-document.js';
import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { resourceText } from '../../trino-rules/engine/access-fact.js';
import { EngineSets } from '../../trino-rules/engine/engine-sets.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import { nameKindChooser, namesAt, nameLevelOf } from '../../trino-rules/engine/rule-trie.js';
import { UserUniverse } from '../../trino-rules/engine/user-universe.js';
import { checkInvariants } from '../../trino-rules/lint/invariants.js';
import { catalogMode, documentRule, NO_USER_PATTERN, type ForeignRule, type ForeignRules } from './foreign-rules.js';
import { isRegular, maxListedNames, parseRegular } from './foreign-language.js';
import type { Dialect } from './lenient-reader.js';
import type { PlacedFinding } from './checks.js';

export interface ServiceSettings extends Dialect {
  serviceAccounts: readonly string[];
  writableCatalogs: readonly string[];
  readableCatalogs: readonly string[];
  metadataCatalog: string | null;
  /** Catalogs in which tables can be made over the files of other tables. */
  externalTableCatalogs?: readonly string[];
  /** Catalogs whose tables repeat the whole row in a column, such as `_message` in Kafka. */
  rawColumnCatalogs?: readonly string[];
}

const MAX_WORK_STEPS = 200_000_000;
const SECTIONS = ['catalogs', 'schemas', 'tables', 'functions', 'procedures', 'catalog_session_properties'] as const;

/**
 * Checks that service accounts have the access that they need, and that nobody can enter the metadata catalog. Assumes that every group has
 * members, none of them a service account.
 */
export function fileInvariants(rules: ForeignRules, settings: ServiceSettings, at: number): PlacedFinding[] {
  const { serviceAccounts, metadataCatalog } = settings;
  if (serviceAccounts.length === 0 && metadataCatalog === null) return [];
  const undecidedFinding = (reason: string): PlacedFinding[] => [
    { code: 'invariant-undecided', message: `the invariants of service accounts could not be checked: ${reason}`, at },
  ];
  if (SECTIONS.some((section) => rules.get(section)?.some(({ isRefused }) => isRefused))) return [];
  const unjudgedRule = SECTIONS.flatMap((section) => rules.get(section) ?? []).find(({ patterns }) =>
    [...patterns.values()].some(({ text }) => !isRegular(text)),
  );
  if (unjudgedRule) return undecidedFinding(`${unjudgedRule.place} has a pattern that is not judged`);
  try {
    const documentWithoutGroups = documentOf(rules, isForUsersOnly, NO_RULES);
    const admitsToCatalog = (rule: ForeignRule): boolean =>
      rule.section === 'catalogs' && !rule.patterns.has('role') && catalogMode(rule) !== 'none';
    const documentWithGroupEntry = documentOf(rules, (rule) => isForUsersOnly(rule) || admitsToCatalog(rule), {
      ...NO_RULES,
      catalogs: [{ allow: 'all' }],
    });
    const isAboutMetadata = ({ code }: Finding): boolean => code === 'invariant-metadata-catalog';
    const findings = [
      ...invariantFindings(documentWithoutGroups, { ...settings, metadataCatalog: null }),
      ...unreadableTableFindings(documentWithoutGroups, settings),
      ...invariantFindings(documentWithGroupEntry, { ...settings, writableCatalogs: [] }).filter(isAboutMetadata),
    ];
    return findings.map((finding) => toPlacedFinding(finding, rules, at));
  } catch (error) {
    if (error instanceof BudgetExceeded) return undecidedFinding('the rules are too intricate');
    throw error;
  }
}

function invariantFindings(document: RulesDocument, settings: ServiceSettings): Finding[] {
  const includesUnnamedUsers = settings.metadataCatalog !== null;
  return checkInvariants(engineSets(document, settings, includesUnnamedUsers), settings);
}

function engineSets(document: RulesDocument, settings: ServiceSettings, includesUnnamedUsers: boolean): EngineSets {
  const patterns = new PatternCache(new WorkBudget(MAX_WORK_STEPS), parseRegular, maxListedNames);
  const universe = new UserUniverse(settings.serviceAccounts, [document], patterns, includesUnnamedUsers);
  return new EngineSets(document, patterns, universe);
}

function unreadableTableFindings(document: RulesDocument, settings: ServiceSettings): Finding[] {
  const engine = engineSets(document, settings, false);
  const evaluator = new Evaluator(document, engine.patterns);
  const unnamedKinds = nameKindChooser(engine.patterns);
  return settings.readableCatalogs.flatMap((catalog) => {
    const tables = [...namesAt(nameLevelOf(engine.schemaBranches(catalog)), unnamedKinds)].flatMap((schema) =>
      [...namesAt(nameLevelOf([engine.tables.branch([catalog, schema])]), unnamedKinds)].map((table) => ({
        catalog,
        schema,
        table,
      })),
    );
    return settings.serviceAccounts.flatMap((account): Finding[] => {
      engine.spend(tables.length * document.tables.length * COST_PER_MATCH);
      const unreadableTable = tables.find((table) => !evaluator.hasTablePrivilege(account, 'SELECT', table));
      if (unreadableTable === undefined) return [];
      const message = `${account} may not read ${resourceText(unreadableTable)}, of the readable catalog ${catalog}`;
      return [{ code: 'invariant-readable-catalog', severity: 'error', message }];
    });
  });
}

const COST_PER_MATCH = 20;

/** Converts the rules into a document. Replaces each rule for which `isKept` is false by a rule that matches nobody. */
function documentOf(
  rules: ForeignRules,
  isKept: (rule: ForeignRule) => boolean,
  fallbackRules: RulesDocument,
): RulesDocument {
  const keptRulesOf = <Name extends (typeof SECTIONS)[number]>(name: Name): RulesDocument[Name][number][] =>
    rules.get(name)?.map((rule) => {
      if (!isKept(rule))
        return documentRule(name, { ...rule, patterns: new Map(), rights: [] }, { user: NO_USER_PATTERN });
      const user = rule.patterns.get('user')?.text;
      return documentRule(name, rule, user === undefined ? {} : { user });
    }) ?? fallbackRules[name];
  return { ...NO_RULES, ...Object.fromEntries(SECTIONS.map((name) => [name, keptRulesOf(name)])) };
}

function isForUsersOnly({ patterns }: ForeignRule): boolean {
  return !patterns.has('group') && !patterns.has('role');
}

function toPlacedFinding({ code, message, rule }: Finding, rules: ForeignRules, at: number): PlacedFinding {
  const sourceRule = [...rules.values()].flat().find(({ place }) => place === rule);
  const ruleFields = sourceRule && { rule: sourceRule.place, witness: sourceRule.text };
  return { code: code as PlacedFinding['code'], message, at: sourceRule?.at ?? at, ...ruleFields };
}
