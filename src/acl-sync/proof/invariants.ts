import { Evaluator } from './evaluator.js';
import type { Finding } from '../rules/finding.js';
import { FRESH, NameSpace } from '../rules/name-space.js';
import { People } from './people.js';
import { hasMember } from './people-set.js';
import { ruleText } from '../rules/rule-text.js';
import type { CatalogRule, RulesDocument } from '../rules/rules-document.js';

/** Whom and what the source document's invariants are about. */
export interface InvariantSettings {
  serviceAccounts: readonly string[];
  writableCatalogs: readonly string[];
  metadataCatalog: string | null;
}

/**
 * The three invariants of the source document (section 5.4): service accounts have rules in catalogs, schemas and tables;
 * in a writable catalog the first rule that matches one includes OWNERSHIP and GRANT_SELECT, for every schema and table;
 * nothing gives anybody anything in the service's own metadata catalog. The generator's tests, the sync and the static
 * check all call this function.
 */
export function checkInvariants(
  rules: RulesDocument,
  settings: InvariantSettings,
  people = new People(settings.serviceAccounts, rules),
): Finding[] {
  const { serviceAccounts, writableCatalogs, metadataCatalog } = settings;
  const space = new NameSpace();
  return [
    ...serviceAccounts.flatMap((account) => {
      const theirs = aboutAccount(rules, account, people);
      return [
        ...missingSections(theirs, account),
        ...writableCatalogs.flatMap((catalog) => notWritable(rules, theirs, account, catalog, space)),
      ];
    }),
    ...(metadataCatalog === null ? [] : openMetadata(rules, serviceAccounts, metadataCatalog, people, space)),
  ];
}

type Theirs = Pick<RulesDocument, 'catalogs' | 'schemas' | 'tables'>;

/** The rules that speak of an account, in their order. */
function aboutAccount({ catalogs, schemas, tables }: RulesDocument, account: string, people: People): Theirs {
  const isAbout = ({ user }: { user?: string }): boolean => means(people, user, account);
  return { catalogs: catalogs.filter(isAbout), schemas: schemas.filter(isAbout), tables: tables.filter(isAbout) };
}

function means(people: People, pattern: string | undefined, account: string): boolean {
  const members = people.meantBy(pattern);
  return people.named(account).some((position) => hasMember(members, position));
}

function missingSections(theirs: Theirs, account: string): Finding[] {
  return (['catalogs', 'schemas', 'tables'] as const)
    .filter((section) => theirs[section].length === 0)
    .map((section) =>
      error(
        'invariant-section-missing',
        `${section} has no rule for ${account}, which denies it everything there; all three sections need one`,
      ),
    );
}

/** Every schema and table that some rule spells out is asked, and one that none does. */
function notWritable(
  rules: RulesDocument,
  theirs: Theirs,
  account: string,
  catalog: string,
  space: NameSpace,
): Finding[] {
  const evaluator = new Evaluator({ ...rules, ...theirs });
  const inCatalog = (rule: { catalog?: string }): boolean => space.means(rule.catalog, catalog);
  const [schemaRules, tableRules] = [theirs.schemas.filter(inCatalog), theirs.tables.filter(inCatalog)];
  const schemas = spelled(
    space,
    [...schemaRules, ...tableRules].map(({ schema }) => schema),
  );
  const tables = spelled(
    space,
    tableRules.map(({ table }) => table),
  );
  const where = `${account} in the writable catalog ${catalog}`;
  const cure = 'so CREATE TABLE and CREATE VIEW would be refused';
  const findings = new Map<object | string, Finding>();

  const modeRule = decided(theirs.catalogs, evaluator.catalogRule(account, catalog));
  if (modeRule?.allow !== 'all') blame('catalogs', modeRule, `does not give ${where} the mode all, ${cure}`);
  for (const schema of schemas) {
    const rule = decided(theirs.schemas, evaluator.schemaRule(account, { catalog, schema }));
    if (rule?.owner !== true)
      blame('schemas', rule, `does not make ${where} an owner, so CREATE SCHEMA would be refused`);
    for (const table of tables) {
      const rule = decided(theirs.tables, evaluator.tableRule(account, { catalog, schema, table }));
      const missing = (['OWNERSHIP', 'GRANT_SELECT'] as const).filter(
        (each) => rule?.privileges.includes(each) !== true,
      );
      if (missing.length > 0)
        blame('tables', rule, `decides first for ${where} and lacks ${missing.join(' and ')}, ${cure}`);
    }
  }
  return [...findings.values()];

  /** Once for each rule, or where a section has none. */
  function blame(section: keyof Theirs, rule: object | undefined, message: string): void {
    const code = 'invariant-writable-catalog';
    if (rule === undefined) findings.set(section, error(code, `no rule of ${section} decides for ${where}, ${cure}`));
    else findings.set(rule, about(code, section, rules[section], rule, message));
  }
}

function decided<Rule>(rules: readonly Rule[], index: number | null): Rule | undefined {
  return index === null ? undefined : rules[index];
}

function spelled(space: NameSpace, patterns: readonly (string | undefined)[]): Set<string> {
  return new Set([...patterns.flatMap((pattern) => [...space.spelled(pattern)]), FRESH]);
}

/**
 * No pattern of a rule that gives a service account anything may match the metadata catalog, decided there by another rule
 * or not. Nobody else may be let into it; whoever may not enter a catalog has nothing in it.
 */
function openMetadata(
  rules: RulesDocument,
  serviceAccounts: readonly string[],
  metadata: string,
  people: People,
  space: NameSpace,
): Finding[] {
  const code = 'invariant-metadata-catalog';
  const says = `opens the metadata catalog ${metadata}, in which nobody may be given anything`;
  const theirs = (rule: { user?: string; catalog?: string }): boolean =>
    space.means(rule.catalog, metadata) && serviceAccounts.some((account) => means(people, rule.user, account));
  const places = <Rule extends object>(
    section: string,
    list: readonly Rule[],
    gives: (rule: Rule) => boolean,
  ): Finding[] => list.filter(gives).map((rule) => about(code, section, list, rule, says));
  const admits = admitting(rules, metadata, space);
  return [
    ...places('catalogs', rules.catalogs, (rule) => admits.has(rule) || (rule.allow !== 'none' && theirs(rule))),
    ...places('schemas', rules.schemas, (rule) => rule.owner && theirs(rule)),
    ...places('tables', rules.tables, (rule) => rule.privileges.length > 0 && theirs(rule)),
    ...places('functions', rules.functions, (rule) => rule.privileges.length > 0 && theirs(rule)),
    ...places('procedures', rules.procedures, (rule) => rule.privileges.length > 0 && theirs(rule)),
    ...places('catalog_session_properties', rules.catalog_session_properties, (rule) => rule.allow && theirs(rule)),
  ];
}

/** The rules that let somebody into a catalog, each for a person whom no earlier rule has decided. */
function admitting({ catalogs }: RulesDocument, catalog: string, space: NameSpace): Set<CatalogRule> {
  const about = catalogs.filter((rule) => space.means(rule.catalog, catalog));
  let undecided: readonly string[] = [
    ...spelled(
      space,
      about.map(({ user }) => user),
    ),
  ];
  const admits = new Set<CatalogRule>();
  for (const rule of about) {
    const decided = new Set(space.among(rule.user, undecided));
    if (decided.size > 0 && rule.allow !== 'none') admits.add(rule);
    undecided = undecided.filter((name) => !decided.has(name));
  }
  return admits;
}

function about(code: string, section: string, list: readonly object[], rule: object, message: string): Finding {
  const at = `${section}[${list.indexOf(rule)}]`;
  return { ...error(code, `${at} ${message}`), rule: at, witness: ruleText(rule) };
}

function error(code: string, message: string): Finding {
  return { code, severity: 'error', message };
}
