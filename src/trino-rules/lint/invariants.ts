import type { Finding } from '../document/finding.js';
import { ruleText, type CatalogRule } from '../document/rules-document.js';
import type { EngineSets } from '../engine/engine-sets.js';
import { everyKindOfName, namesAt, placeBelow, type Unnamed } from '../engine/rule-trie.js';
import { addNew, hasMember, type Bitset } from '../engine/sparse-bitset.js';
import type { SnapshotSettings } from '../model/snapshot.js';

export type InvariantSettings = Pick<SnapshotSettings, 'serviceAccounts' | 'writableCatalogs' | 'metadataCatalog'>;

/**
 * The three invariants: service accounts have rules in catalogs, schemas and tables; in a writable catalog the first rule that matches
 * one includes OWNERSHIP and GRANT_SELECT, for every schema and table; nothing gives access to the service's own metadata catalog.
 * @param engine numbers the service accounts among its users
 */
export function checkInvariants(engine: EngineSets, settings: InvariantSettings): Finding[] {
  const { serviceAccounts, writableCatalogs, metadataCatalog } = settings;
  const unnamed = everyKindOfName(engine.patterns);
  const accounts = serviceAccounts.map((name) => new AccountRules(engine, name, unnamed));
  return [
    ...accounts.flatMap((account) => [
      ...account.missingSections(),
      ...writableCatalogs.flatMap((catalog) => account.notWritable(catalog)),
    ]),
    ...(metadataCatalog === null ? [] : openMetadata(engine, accounts, metadataCatalog)),
  ];
}

type Section = 'catalogs' | 'schemas' | 'tables';

/** The rules for one service account. */
class AccountRules {
  private readonly positions: readonly number[];

  constructor(
    private readonly engine: EngineSets,
    private readonly account: string,
    private readonly unnamed: Unnamed,
  ) {
    this.positions = engine.people.named(account);
  }

  matches({ user }: { user?: string }): boolean {
    this.engine.spend(STEPS_PER_LOOKUP);
    const users = this.engine.people.matching(user);
    return this.positions.some((position) => hasMember(users, position));
  }

  missingSections(): Finding[] {
    return (['catalogs', 'schemas', 'tables'] as const)
      .filter((section) => !this.engine.rules[section].some((rule) => this.matches(rule)))
      .map((section) =>
        error(
          'invariant-section-missing',
          `${section} has no rule for ${this.account}, which denies it everything there; all three sections need one`,
        ),
      );
  }

  /** Evaluates all schemas and tables that rules spell out, and one of each kind of other names. */
  notWritable(catalog: string): Finding[] {
    const { rules, catalogs, schemas, tables } = this.engine;
    const where = `${this.account} in the writable catalog ${catalog}`;
    const cure = 'so CREATE TABLE and CREATE VIEW would be refused';
    const findings = new Map<object | string, Finding>();
    /** One finding for each rule, and for each section without a rule. */
    const blame = (section: Section, rule: object | undefined, message: string): void => {
      const code = 'invariant-writable-catalog';
      if (rule === undefined) findings.set(section, error(code, `no rule of ${section} decides for ${where}, ${cure}`));
      else findings.set(rule, about(code, section, rules[section], rule, message));
    };

    const mode = this.first(rules.catalogs, catalogs.at([catalog]));
    if (mode?.allow !== 'all') blame('catalogs', mode, `does not give ${where} the mode all, ${cure}`);
    for (const schema of namesAt(placeBelow(this.engine.schemaBranches(catalog)), this.unnamed)) {
      const owner = this.first(rules.schemas, schemas.at([catalog, schema]));
      if (owner?.owner !== true)
        blame('schemas', owner, `does not make ${where} an owner, so CREATE SCHEMA would be refused`);
      for (const table of namesAt(placeBelow([tables.branch([catalog, schema])]), this.unnamed)) {
        const rule = this.first(rules.tables, tables.at([catalog, schema, table]));
        const missing = (['OWNERSHIP', 'GRANT_SELECT'] as const).filter(
          (each) => rule?.privileges.includes(each) !== true,
        );
        if (missing.length > 0)
          blame('tables', rule, `decides first for ${where} and lacks ${missing.join(' and ')}, ${cure}`);
      }
    }
    return [...findings.values()];
  }

  private first<Rule extends { user?: string }>(rules: readonly Rule[], indexes: readonly number[]): Rule | undefined {
    const index = indexes.find((index) => this.matches(rules[index] ?? {}));
    return index === undefined ? undefined : rules[index];
  }
}

/**
 * No rule that gives a service account anything may match the metadata catalog, even if another rule decides there. No other principal
 * may enter it.
 */
function openMetadata(engine: EngineSets, accounts: readonly AccountRules[], metadata: string): Finding[] {
  const { rules, patterns } = engine;
  const code = 'invariant-metadata-catalog';
  const says = `opens the metadata catalog ${metadata}, in which nobody may be given anything`;
  const theirs = (rule: { user?: string; catalog?: string }): boolean =>
    patterns.matches(rule.catalog, metadata) && accounts.some((account) => account.matches(rule));
  const places = <Rule extends object>(
    section: string,
    list: readonly Rule[],
    gives: (rule: Rule) => boolean,
  ): Finding[] => list.filter(gives).map((rule) => about(code, section, list, rule, says));
  const admits = admitting(engine, metadata);
  return [
    ...places('catalogs', rules.catalogs, (rule) => admits.has(rule) || (rule.allow !== 'none' && theirs(rule))),
    ...places('schemas', rules.schemas, (rule) => rule.owner && theirs(rule)),
    ...places('tables', rules.tables, (rule) => rule.privileges.length > 0 && theirs(rule)),
    ...places('functions', rules.functions, (rule) => rule.privileges.length > 0 && theirs(rule)),
    ...places('procedures', rules.procedures, (rule) => rule.privileges.length > 0 && theirs(rule)),
    ...places('catalog_session_properties', rules.catalog_session_properties, (rule) => rule.allow && theirs(rule)),
  ];
}

/** The rules that let some user into a catalog for whom no earlier rule decides. */
function admitting(engine: EngineSets, catalog: string): Set<CatalogRule> {
  const decided: Bitset = new Uint32Array(engine.width);
  const admits = new Set<CatalogRule>();
  for (const index of engine.catalogs.at([catalog])) {
    const rule = engine.rules.catalogs[index];
    if (rule === undefined) continue;
    const users = engine.people.matching(rule.user);
    engine.spend(users.at.length + STEPS_PER_LOOKUP);
    if (addNew(users, decided) && rule.allow !== 'none') admits.add(rule);
  }
  return admits;
}

const STEPS_PER_LOOKUP = 20;

function about(code: string, section: string, list: readonly object[], rule: object, message: string): Finding {
  const at = `${section}[${list.indexOf(rule)}]`;
  return { ...error(code, `${at} ${message}`), rule: at, witness: ruleText(rule) };
}

function error(code: string, message: string): Finding {
  return { code, severity: 'error', message };
}
