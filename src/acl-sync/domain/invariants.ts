import { PRIVILEGES } from '../../grants/domain/privilege.js';
import { Evaluator } from './evaluator.js';
import type { Finding } from './finding.js';
import { FRESH, NameSpace } from './name-space.js';
import { ruleText } from './rule-text.js';
import type { CatalogRule, RulesDocument } from './rules-document.js';

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
export function checkInvariants(rules: RulesDocument, settings: InvariantSettings): Finding[] {
  const space = new NameSpace();
  return [
    ...settings.serviceAccounts.flatMap((account) => [
      ...missingSections(rules, account, space),
      ...settings.writableCatalogs.flatMap((catalog) => notWritable(rules, account, catalog, space)),
    ]),
    ...(settings.metadataCatalog === null ? [] : openMetadata(rules, settings, settings.metadataCatalog, space)),
  ];
}

function missingSections(rules: RulesDocument, account: string, space: NameSpace): Finding[] {
  return (['catalogs', 'schemas', 'tables'] as const)
    .filter((section) => !rules[section].some(({ user }) => space.among(user, [account]).length > 0))
    .map((section) =>
      error(
        'invariant-section-missing',
        `${section} has no rule for ${account}, which denies it everything there; all three sections need one`,
      ),
    );
}

/** Every schema and table that some rule spells out is asked, and one that none does. */
function notWritable(rules: RulesDocument, account: string, catalog: string, space: NameSpace): Finding[] {
  const evaluator = new Evaluator(rules);
  const spelled = (key: 'schema' | 'table'): string[] => [
    ...new Set(rules.tables.filter(theirs).flatMap((rule) => [...space.spelled(rule[key])])),
    FRESH,
  ];
  function theirs(rule: { user?: string; catalog?: string }): boolean {
    return space.among(rule.user, [account]).length > 0 && space.among(rule.catalog, [catalog]).length > 0;
  }
  const where = `${account} in the writable catalog ${catalog}`;
  const cure = 'so CREATE TABLE or CREATE VIEW would be refused';
  const findings: Finding[] = [];
  if (evaluator.catalogMode(account, catalog) !== 'all') {
    findings.push(
      blame('catalogs', evaluator.catalogRule(account, catalog), `does not give ${where} the mode all, ${cure}`),
    );
  }
  const schemas = [
    ...new Set([
      ...rules.schemas.filter(theirs).flatMap((rule) => [...space.spelled(rule.schema)]),
      ...spelled('schema'),
    ]),
  ];
  for (const schema of schemas) {
    const rule = evaluator.schemaRule(account, { catalog, schema });
    if (rule === null || rules.schemas[rule]?.owner !== true) {
      findings.push(
        blame('schemas', rule, `does not make ${where} the owner of its schemas, so CREATE SCHEMA would be refused`),
      );
      break;
    }
  }
  const needed = PRIVILEGES.filter((privilege) => privilege === 'OWNERSHIP' || privilege === 'GRANT_SELECT');
  const blamed = new Set<number | null>();
  for (const schema of spelled('schema')) {
    for (const table of spelled('table')) {
      const rule = evaluator.tableRule(account, { catalog, schema, table });
      const given = rule === null ? [] : (rules.tables[rule]?.privileges ?? []);
      const missing = needed.filter((privilege) => !given.includes(privilege));
      if (missing.length === 0 || blamed.has(rule)) continue;
      blamed.add(rule);
      findings.push(blame('tables', rule, `decides first for ${where} and lacks ${missing.join(' and ')}, ${cure}`));
    }
  }
  return findings;

  function blame(section: 'catalogs' | 'schemas' | 'tables', rule: number | null, message: string): Finding {
    const code = 'invariant-writable-catalog';
    if (rule === null) return error(code, `no rule of ${section} decides for ${where}, ${cure}`);
    const text = rules[section][rule];
    const at = `${section}[${rule}]`;
    return { ...error(code, `${at} ${message}`), rule: at, ...(text && { witness: ruleText(text) }) };
  }
}

/**
 * No pattern of a rule that gives a service account anything may match the metadata catalog, decided there by another rule
 * or not. Nobody else may be let into it; whoever may not enter a catalog has nothing in it.
 */
function openMetadata(
  rules: RulesDocument,
  { serviceAccounts }: InvariantSettings,
  metadata: string,
  space: NameSpace,
): Finding[] {
  const matches = ({ catalog }: { catalog?: string }): boolean => space.among(catalog, [metadata]).length > 0;
  const isTheirs = ({ user }: { user?: string }): boolean => space.among(user, serviceAccounts).length > 0;
  const places = <Rule extends object>(
    section: string,
    list: readonly Rule[],
    gives: (rule: Rule) => boolean,
  ): Finding[] =>
    list.flatMap((rule, index) =>
      matches(rule) && gives(rule) ? [opens(`${section}[${index}]`, rule, metadata)] : [],
    );
  const admits = admitting(rules, metadata, space);
  return [
    ...places('catalogs', rules.catalogs, (rule) => admits.has(rule) || (isTheirs(rule) && rule.allow !== 'none')),
    ...places('schemas', rules.schemas, (rule) => isTheirs(rule) && rule.owner),
    ...places('tables', rules.tables, (rule) => isTheirs(rule) && rule.privileges.length > 0),
    ...places('functions', rules.functions, (rule) => isTheirs(rule) && rule.privileges.length > 0),
    ...places('procedures', rules.procedures, (rule) => isTheirs(rule) && rule.privileges.length > 0),
    ...places('catalog_session_properties', rules.catalog_session_properties, (rule) => isTheirs(rule) && rule.allow),
  ];
}

/** The rules that let somebody into a catalog, each for a person whom no earlier rule has decided. */
function admitting({ catalogs }: RulesDocument, catalog: string, space: NameSpace): Set<CatalogRule> {
  const about = catalogs.filter((rule) => space.among(rule.catalog, [catalog]).length > 0);
  let undecided = [...new Set([...about.flatMap(({ user }) => [...space.spelled(user)]), FRESH])];
  const admits = new Set<CatalogRule>();
  for (const rule of about) {
    const decided = new Set(space.among(rule.user, undecided));
    if (decided.size > 0 && rule.allow !== 'none') admits.add(rule);
    undecided = undecided.filter((name) => !decided.has(name));
  }
  return admits;
}

function opens(at: string, rule: object, metadata: string): Finding {
  const message = `${at} opens the metadata catalog ${metadata}, in which nobody may be given anything`;
  return { ...error('invariant-metadata-catalog', message), rule: at, witness: ruleText(rule) };
}

function error(code: string, message: string): Finding {
  return { code, severity: 'error', message };
}
