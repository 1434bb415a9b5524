import type { Finding } from '../document/finding.js';
import { ruleText, type CatalogRule } from '../document/rules-document.js';
import type { EngineSets } from '../engine/engine-sets.js';
import { nameKindChooser, namesAt, nameLevelOf, type NameChooser } from '../engine/rule-trie.js';
import { addNewMembers, hasMember, type Bitset } from '../engine/sparse-bitset.js';
import type { SnapshotSettings } from '../model/snapshot.js';

export type InvariantSettings = Pick<SnapshotSettings, 'serviceAccounts' | 'writableCatalogs' | 'metadataCatalog'>;

/**
 * Checks three invariants. Service accounts have rules in the sections `catalogs`, `schemas` and `tables`. In writable catalogs their first
 * matching rule has OWNERSHIP and GRANT_SELECT, for every schema and table. No rule gives access to the metadata catalog.
 * @param engine the rules, for users that include the service accounts
 */
export function checkInvariants(engine: EngineSets, settings: InvariantSettings): Finding[] {
  const { serviceAccounts, writableCatalogs, metadataCatalog } = settings;
  const chooseNames = nameKindChooser(engine.patterns);
  const accounts = serviceAccounts.map((name) => new AccountRules(engine, name, chooseNames));
  return [
    ...accounts.flatMap((account) => [
      ...account.missingSectionFindings(),
      ...writableCatalogs.flatMap((catalog) => account.writabilityFindings(catalog)),
    ]),
    ...(metadataCatalog === null ? [] : metadataFindings(engine, accounts, metadataCatalog)),
  ];
}

type Section = 'catalogs' | 'schemas' | 'tables';

class AccountRules {
  private readonly userPositions: readonly number[];

  constructor(
    private readonly engine: EngineSets,
    private readonly account: string,
    private readonly chooseNames: NameChooser,
  ) {
    this.userPositions = engine.universe.positionsOf(account);
  }

  matches({ user }: { user?: string }): boolean {
    this.engine.spend(COST_PER_LOOKUP);
    const users = this.engine.universe.usersMatching(user);
    return this.userPositions.some((position) => hasMember(users, position));
  }

  missingSectionFindings(): Finding[] {
    return (['catalogs', 'schemas', 'tables'] as const)
      .filter((section) => !this.engine.rules[section].some((rule) => this.matches(rule)))
      .map((section) =>
        errorFinding(
          'invariant-section-missing',
          `${section} has no rule for ${this.account}, which denies it everything there; all three sections need one`,
        ),
      );
  }

  /** Findings about rules by which the account could not create schemas, tables or views in a writable catalog. */
  writabilityFindings(catalog: string): Finding[] {
    const { rules, catalogs, schemas, tables } = this.engine;
    const place = `${this.account} in the writable catalog ${catalog}`;
    const consequence = 'so CREATE TABLE and CREATE VIEW would be refused';
    const findings = new Map<object | string, Finding>();
    /** Keeps one finding for each deciding rule or, where no rule decides, for each section. */
    const addFinding = (section: Section, rule: object | undefined, message: string): void => {
      const code = 'invariant-writable-catalog';
      if (rule === undefined)
        findings.set(section, errorFinding(code, `no rule of ${section} decides for ${place}, ${consequence}`));
      else findings.set(rule, ruleFinding(code, section, rules[section], rule, message));
    };

    const catalogRule = this.firstMatch(rules.catalogs, catalogs.rulesMatching([catalog]));
    if (catalogRule?.allow !== 'all')
      addFinding('catalogs', catalogRule, `does not give ${place} the mode all, ${consequence}`);
    for (const schema of namesAt(nameLevelOf(this.engine.schemaBranches(catalog)), this.chooseNames)) {
      const schemaRule = this.firstMatch(rules.schemas, schemas.rulesMatching([catalog, schema]));
      if (schemaRule?.owner !== true)
        addFinding('schemas', schemaRule, `does not make ${place} an owner, so CREATE SCHEMA would be refused`);
      for (const table of namesAt(nameLevelOf([tables.branch([catalog, schema])]), this.chooseNames)) {
        const rule = this.firstMatch(rules.tables, tables.rulesMatching([catalog, schema, table]));
        const lacked = (['OWNERSHIP', 'GRANT_SELECT'] as const).filter(
          (privilege) => rule?.privileges.includes(privilege) !== true,
        );
        if (lacked.length > 0)
          addFinding('tables', rule, `decides first for ${place} and lacks ${lacked.join(' and ')}, ${consequence}`);
      }
    }
    return [...findings.values()];
  }

  private firstMatch<Rule extends { user?: string }>(
    rules: readonly Rule[],
    ruleIndexes: readonly number[],
  ): Rule | undefined {
    const index = ruleIndexes.find((index) => this.matches(rules[index] ?? {}));
    return index === undefined ? undefined : rules[index];
  }
}

/**
 * Findings about rules that give access to the metadata catalog. Rules that match a service account are reported even if an earlier rule
 * decides.
 */
function metadataFindings(engine: EngineSets, accounts: readonly AccountRules[], metadataCatalog: string): Finding[] {
  const { rules, patterns } = engine;
  const code = 'invariant-metadata-catalog';
  const message = `opens the metadata catalog ${metadataCatalog}, in which nobody may be given anything`;
  const matchesAccount = (rule: { user?: string; catalog?: string }): boolean =>
    patterns.matches(rule.catalog, metadataCatalog) && accounts.some((account) => account.matches(rule));
  const sectionFindings = <Rule extends object>(
    section: string,
    ruleList: readonly Rule[],
    givesAccess: (rule: Rule) => boolean,
  ): Finding[] => ruleList.filter(givesAccess).map((rule) => ruleFinding(code, section, ruleList, rule, message));
  const rulesWithAccess = rulesOpening(engine, metadataCatalog);
  return [
    ...sectionFindings(
      'catalogs',
      rules.catalogs,
      (rule) => rulesWithAccess.has(rule) || (rule.allow !== 'none' && matchesAccount(rule)),
    ),
    ...sectionFindings('schemas', rules.schemas, (rule) => rule.owner && matchesAccount(rule)),
    ...sectionFindings('tables', rules.tables, (rule) => rule.privileges.length > 0 && matchesAccount(rule)),
    ...sectionFindings('functions', rules.functions, (rule) => rule.privileges.length > 0 && matchesAccount(rule)),
    ...sectionFindings('procedures', rules.procedures, (rule) => rule.privileges.length > 0 && matchesAccount(rule)),
    ...sectionFindings(
      'catalog_session_properties',
      rules.catalog_session_properties,
      (rule) => rule.allow && matchesAccount(rule),
    ),
  ];
}

function rulesOpening(engine: EngineSets, catalog: string): Set<CatalogRule> {
  const decidedUsers: Bitset = new Uint32Array(engine.wordCount);
  const rulesWithAccess = new Set<CatalogRule>();
  for (const index of engine.catalogs.rulesMatching([catalog])) {
    const rule = engine.rules.catalogs[index];
    if (rule === undefined) continue;
    const users = engine.universe.usersMatching(rule.user);
    engine.spend(users.wordIndexes.length + COST_PER_LOOKUP);
    if (addNewMembers(users, decidedUsers) !== null && rule.allow !== 'none') rulesWithAccess.add(rule);
  }
  return rulesWithAccess;
}

const COST_PER_LOOKUP = 20;

function ruleFinding(code: string, section: string, list: readonly object[], rule: object, message: string): Finding {
  const rulePath = `${section}[${list.indexOf(rule)}]`;
  return { ...errorFinding(code, `${rulePath} ${message}`), rule: rulePath, witness: ruleText(rule) };
}

function errorFinding(code: string, message: string): Finding {
  return { code, severity: 'error', message };
}
