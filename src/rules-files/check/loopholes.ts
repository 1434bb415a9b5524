import { getOrInsert } from '../../kernel/collections.js';
import { filterLeakProblem } from '../../trino-rules/document/expression-warnings.js';
import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { displayName, resourceText } from '../../trino-rules/engine/access-fact.js';
import {
  type Loophole,
  LoopholeSearch,
  type Gate,
  type Opening,
  type Path,
  type Person,
  sqlPath,
  sqlFor,
  type Example,
} from './loophole-search.js';
import type { ServiceSettings } from './file-invariants.js';
import { catalogMode, type ForeignRule, type ForeignRules, givesSomething, isColumnName } from './foreign-rules.js';
import type { PlacedFinding } from './checks.js';
import { EXPRESSION_LOOPHOLES, isMasked, givesReading } from './statement-faults.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import type { SectionName } from './engine-format.js';

/** Work budget for a file, in steps of about ten nanoseconds. */
const MAX_WORK_STEPS = 60_000_000;
/** The search for rules with the loophole `door-procedure` stops when it has found more than this many. */
const MAX_PROCEDURE_RULES = 20;
const MAX_NAMED_RULES = 4;

/**
 * Finds loopholes in rules (seen on Trino 483), and rules without effect. A finding shows an example of a statement that the engine accepts
 * or refuses.
 */
export function loopholeFindings(rules: ForeignRules, settings: ServiceSettings, rootOffset: number): PlacedFinding[] {
  const catalogRules = rules.get('catalogs');
  const sections = GATED_SECTIONS.map(([section, levels]) => ({ section, levels, list: rules.get(section) ?? [] }));
  // The engine refuses a whole file because of one refused rule, which has its own finding, so loopholes are not searched.
  const usedRules = [...sections.flatMap(({ list }) => list), ...(catalogRules ?? []), ...(rules.get('queries') ?? [])];
  if (usedRules.some(({ isRefused }) => isRefused)) return [];
  const catalogsToTry = [...(settings.externalTableCatalogs ?? []), ...(settings.rawColumnCatalogs ?? [])];
  const budget = new WorkBudget(MAX_WORK_STEPS);
  const findings: PlacedFinding[] = [];
  try {
    for (const { section, levels, list } of sections) {
      const isTableSection = section === 'tables';
      const queryRules = isTableSection ? rules.get('queries') : [];
      const search = new LoopholeSearch(list, catalogRules, catalogsToTry, budget, levels, queryRules);
      const loopholesOfTables = isTableSection ? tableLoopholes(search, settings) : [];
      const loopholes = [...loopholesOfTables, ...ineffectiveRules(section, search, rules)];
      for (const loophole of loopholes) findOpenings(loophole, search, findings);
    }
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    const message =
      'which rules leave doors open, or are without effect, could not be found out: they are too intricate';
    findings.push({ code: 'door-undecided', message, at: rootOffset });
  }
  return findings;
}

function findOpenings(loophole: Loophole, search: LoopholeSearch, findings: PlacedFinding[]): void {
  const rules = search.rules.filter((rule) => loophole.mayApplyTo(rule));
  const countBefore = findings.length;
  for (const rule of rules) {
    const otherRules = (path: Path): Iterable<ForeignRule> => loophole.otherRules?.(rule, path) ?? [rule];
    const probe = (path: Path, person: Person): Example | null => loophole.example(rule, path, person);
    const opening = search.findOpening(rule, loophole.mode ?? 'read-only', otherRules, probe);
    if (opening !== null) findings.push(loopholeFinding(rule, loophole, opening));
    if (opening !== null && loophole.isReportedOnce === true) return;
    if (loophole.code === PROCEDURE_CODE && findings.length - countBefore > MAX_PROCEDURE_RULES) break;
  }
  if (loophole.code === PROCEDURE_CODE) findings.push(...joinFindings(findings.splice(countBefore), rules.length));
}

/** Keeps only the first finding, which then also names the other rules. @param maxCount the highest possible number of findings */
function joinFindings([first, ...others]: PlacedFinding[], maxCount: number): PlacedFinding[] {
  if (first === undefined || others.length === 0) return first === undefined ? [] : [first];
  const namedRules = others.slice(0, MAX_NAMED_RULES).map(({ rule }) => rule);
  const areAllNamed = others.length === namedRules.length;
  const count = others.length < MAX_PROCEDURE_RULES ? others.length : `up to ${maxCount - 1}`;
  const moreText = `${count} more rule${others.length === 1 ? '' : 's'} (${namedRules.join(', ')}${areAllNamed ? '' : ', …'})`;
  return [{ ...first, message: `${first.message}; so ${others.length === 1 ? 'does' : 'do'} ${moreText}` }];
}

const PROCEDURE_CODE = 'door-procedure';

function loopholeFinding({ place, at }: ForeignRule, { code }: Loophole, opening: Opening<Example>): PlacedFinding {
  const { probeResult: found, path, person, peopleCount, tableCount } = opening;
  const [catalog, schema, table] = path;
  const moreText = [
    ...(peopleCount > 1 ? [`${peopleCount - 1} more ${peopleCount === 2 ? 'person' : 'people'}`] : []),
    ...(tableCount > 1 ? [`${tableCount - 1} more ${tableCount === 2 ? 'table' : 'tables'}`] : []),
  ].join(' and ');
  const holderText = `${personText(person)} on ${resourceText({ catalog, schema, ...(table !== undefined && { table }) })}${moreText && ` (and ${moreText})`}`;
  const otherRuleText = found.otherRule === undefined ? '' : `, by ${found.otherRule.place} ${found.otherRule.text}`;
  const witness = `${holderText}: ${found.statement}${otherRuleText}`;
  return { code, message: `${place} ${found.problem}`, at, rule: place, witness };
}

function personText({ name, groups }: Person): string {
  const personName = displayName(name, groups.length === 0 ? 'anybody' : 'somebody');
  return groups.length === 0
    ? personName
    : `${personName} in ${groups.map((group) => displayName(group, 'any group')).join(' and ')}`;
}

/** Suffixes of companion tables: connectors serve the metadata of `orders` as `orders$files`, `orders$partitions`, … */
const COMPANION_SUFFIXES = [
  ...['files', 'partitions', 'entries', 'all_entries', 'manifests', 'all_manifests', 'snapshots', 'history', 'refs'],
  ...['metadata_log_entries', 'properties', 'materialized_view_storage', 'transactions', 'timeline', 'view_definition'],
];
const STORAGE_COLUMNS = ['$path', '$partition', '$bucket'];
const RAW_COLUMNS = ['_message', '_key', '_headers', '_source', '_value'];

function tableLoopholes(search: LoopholeSearch, settings: ServiceSettings): Loophole[] {
  const { externalTableCatalogs = [], rawColumnCatalogs = [] } = settings;
  return [
    companionLoophole(search),
    {
      code: PROCEDURE_CODE,
      mayApplyTo: (rule) => {
        const isReadOnly = !['INSERT', 'UPDATE', 'DELETE', 'OWNERSHIP'].some((each) => rule.rights.includes(each));
        // The engine refuses procedures on a table with the masked column.
        const mayLackMask = maskedColumns(rule).length === 0 || !search.spellsTables(rule);
        return givesReading(rule) && isReadOnly && rule.filter === null && mayLackMask;
      },
      example(rule, path) {
        const changed = maskedColumns(rule).length === 0 ? 'the table' : 'tables without the masked columns';
        return {
          problem: `gives reading alone, by which readers also change ${changed}: ALTER TABLE … EXECUTE asks nothing else`,
          statement: `ALTER TABLE ${sqlPath(path)} EXECUTE rollback_to_snapshot(…)`,
        };
      },
    },
    {
      code: 'door-truncate',
      mode: 'all',
      mayApplyTo: (rule) => rule.rights.includes('DELETE') && (isFiltered(rule) || maskedColumns(rule).length > 0),
      example: (_, path) => ({
        problem: 'gives DELETE beside a filter or mask, and with it the rows of everybody',
        statement: `TRUNCATE TABLE ${sqlPath(path)}`,
      }),
    },
    {
      code: 'door-storage-column',
      mayApplyTo: (rule) => givesReading(rule) && maskedColumns(rule).length + hiddenColumns(rule).length > 0,
      example(rule, path) {
        const closedColumns = new Set([...maskedColumns(rule), ...hiddenColumns(rule)]);
        const riskyColumns = [...STORAGE_COLUMNS, ...(rawColumnCatalogs.includes(path[0]) ? RAW_COLUMNS : [])];
        const leakingColumns = riskyColumns.filter((name) => !closedColumns.has(name)).map((name) => `"${name}"`);
        const columnList = leakingColumns.join(', ');
        const problem = `hides or masks columns, whose values ${columnList} may show`;
        return columnList === '' ? null : { problem, statement: `SELECT ${columnList} FROM ${sqlPath(path)}` };
      },
    },
    {
      code: 'door-filter',
      mayApplyTo: (rule) => givesReading(rule) && rule.filter !== null && filterLeakProblem(rule.filter.text) !== null,
      example: ({ filter }, path) => ({
        problem: `has a filter that leaks: ${filterLeakProblem(filter?.text ?? '') ?? ''}`,
        statement: `SELECT * FROM ${sqlPath(path)} WHERE IF(…, fail(column), true)`,
      }),
    },
    sharedFilesLoophole(search, externalTableCatalogs),
    ...EXPRESSION_LOOPHOLES,
  ];
}

function companionLoophole(search: LoopholeSearch): Loophole {
  const tablePatterns = search.rules.map((rule) => rule.patterns.get('table')?.text ?? '');
  // Patterns without `$` rarely distinguish companions (`orders$files`), so fewer suffixes are tried then.
  const hasCompanionPatterns = tablePatterns.some((text) => text.includes('$'));
  const triedSuffixes = COMPANION_SUFFIXES.filter(
    (suffix, index) => index < 2 || hasCompanionPatterns || tablePatterns.some((text) => text.includes(suffix)),
  );
  const companionPaths = ([catalog, schema, table = '']: Path): Path[] =>
    table.includes('$') ? [] : triedSuffixes.map((suffix) => [catalog, schema, `${table}$${suffix}`]);
  return {
    code: 'door-companion',
    mayApplyTo: isRestricting,
    otherRules: (rule, path) =>
      companionPaths(path).flatMap((companionPath) => {
        const matchingRules = search.rulesMatching(companionPath);
        const decidingIndex = matchingRules.findIndex((other) => search.includesPeople(other, rule));
        return matchingRules.slice(0, decidingIndex < 0 ? undefined : decidingIndex + 1).filter(isOpenToReaders);
      }),
    example(rule, path, person) {
      for (const companionPath of companionPaths(path)) {
        const companionRule = search.decidingRule(companionPath, person);
        if (companionRule === undefined || !isOpenToReaders(companionRule)) continue;
        const problem = `${givesReading(rule) ? 'restricts' : 'closes'} a table whose companions stay open`;
        return { problem, statement: `SELECT * FROM ${sqlPath(companionPath)}`, otherRule: companionRule };
      }
      return null;
    },
  };
}

/** The loophole by which a user with OWNERSHIP creates a table over the files of another table, which is restricted for that user. */
function sharedFilesLoophole(search: LoopholeSearch, catalogs: readonly string[]): Loophole {
  const restrictionsByCatalog = new Map<string, { rule: ForeignRule; path: Path }[]>();
  const restrictionsIn = (catalog: string) =>
    getOrInsert(restrictionsByCatalog, catalog, () => {
      const pathsInCatalog = (rule: ForeignRule) => search.pathsToTry(rule).filter(([each]) => each === catalog);
      return search.rules.filter(isRestricting).flatMap((rule) => pathsInCatalog(rule).map((path) => ({ rule, path })));
    });
  // A rule that does not let a person read restricts this person only if another rule would.
  const isEffective = ({ rule, path }: { rule: ForeignRule; path: Path }, person: Person): boolean =>
    search.decidingRule(path, person) === rule &&
    (givesReading(rule) ||
      search.rulesMatching(path).some((other) => givesReading(other) && search.matchesPerson(other, person)));
  return {
    code: 'door-files',
    mode: 'all',
    mayApplyTo: (rule) =>
      rule.rights.includes('OWNERSHIP') && catalogs.some((each) => search.isAboutCatalog(rule, each)),
    otherRules: (_, [catalog]) => (catalogs.includes(catalog) ? restrictionsIn(catalog).map(({ rule }) => rule) : []),
    example(_, path, person) {
      const restrictingRule = restrictionsIn(path[0]).find((each) => isEffective(each, person))?.rule;
      const problem = `gives ownership in ${path[0]}, where tables can be made over others' files, beside a restriction there`;
      const statement = `CREATE TABLE ${sqlPath(path)} (…) WITH (external_location = …)`;
      return restrictingRule === undefined ? null : { problem, statement, otherRule: restrictingRule };
    },
  };
}

function isFiltered({ filter }: ForeignRule): boolean {
  return filter !== null && !/^[\s(]*true[\s)]*$/i.test(filter.text);
}

function maskedColumns({ columns }: ForeignRule): string[] {
  return columns.filter(isMasked).map(({ name }) => name);
}

function hiddenColumns({ columns }: ForeignRule): string[] {
  return columns.flatMap(({ name, allow }) => (!allow && isColumnName(name) ? name : []));
}

/** Whether a rule does not let its users read all rows and columns. */
export function isRestricting(rule: ForeignRule): boolean {
  return !givesReading(rule) || isFiltered(rule) || maskedColumns(rule).length + hiddenColumns(rule).length > 0;
}

/** Whether a rule for a companion (`orders$files`) lets people read it. With a row filter reading fails, because filters name columns of `orders`. */
function isOpenToReaders(rule: ForeignRule): boolean {
  return givesReading(rule) && !isFiltered(rule);
}

/** Sections whose rules give nothing to people who may not enter the catalog, with the fields that match their objects. */
const GATED_SECTIONS = [
  ['schemas', ['catalog', 'schema']],
  ['tables', ['catalog', 'schema', 'table']],
  ['functions', ['catalog', 'schema', 'function']],
  ['procedures', ['catalog', 'schema', 'procedure']],
  ['catalog_session_properties', ['catalog', 'property']],
] as const satisfies readonly (readonly [SectionName, readonly string[]])[];

type GatedSection = (typeof GATED_SECTIONS)[number][0];

const WRITE_RIGHTS = ['INSERT', 'UPDATE', 'DELETE', 'OWNERSHIP', 'GRANT_SELECT'];
/** The table from which JDBC drivers list tables. */
const JDBC_TABLES: Path = [SYSTEM, 'jdbc', 'tables'];

/** Checks for rights without effect: "catalogs" or "queries" shuts out the people of the rule, or JDBC tools cannot list the tables. */
function ineffectiveRules(section: GatedSection, search: LoopholeSearch, rules: ForeignRules): Loophole[] {
  const [catalogs, queries] = [rules.get('catalogs'), rules.get('queries')];
  const entryGate: Gate = { rules: catalogs, isAboutCatalogs: true, admits: (rule) => catalogMode(rule) !== 'none' };
  const writeGate: Gate = { ...entryGate, admits: (rule) => catalogMode(rule) === 'all' };
  const admitsNobody = (gate: Gate, rule: ForeignRule) => search.peopleShutOut(rule, gate) === null;
  const shutsSomebodyOut = (gate: Gate, rule: ForeignRule) => search.peopleShutOut(rule, gate)?.length !== 0;
  const shutsOut = (gate: Gate, rule: ForeignRule, name: string) =>
    admitsNobody(gate, rule) || search.peopleShutOut(rule, gate)?.includes(name) === true;
  const writeRightsOf = ({ rights }: ForeignRule) =>
    rights.filter((right) =>
      section === 'schemas' ? right === 'true' : section === 'tables' && WRITE_RIGHTS.includes(right),
    );
  const loopholes: Loophole[] = [
    {
      code: 'rule-without-entry',
      mode: 'none',
      mayApplyTo: (rule) => givesSomething(rule) && shutsSomebodyOut(entryGate, rule),
      example(rule, path, { name }) {
        if (!shutsOut(entryGate, rule, name)) return null;
        const [whom, them] = admitsNobody(entryGate, rule) ? ['its people', 'them'] : [name, name];
        const exceptionText = search.isAboutCatalog(rule, SYSTEM) ? ', but in system' : '';
        const problem = `gives ${whom} nothing${exceptionText}: "catalogs" lets ${them} enter no catalog of it`;
        return { problem, statement: `${statementFor(section, rule.rights[0], path)} fails` };
      },
    },
    {
      code: 'rule-read-only',
      mayApplyTo: (rule) => writeRightsOf(rule).length > 0 && admitsNobody(writeGate, rule),
      example(rule, path) {
        const writeRights = section === 'schemas' ? ['ownership'] : writeRightsOf(rule);
        const problem = `gives ${writeRights.join(', ')} without effect: "catalogs" lets its people only read there`;
        const failureText =
          writeRights[0] === 'GRANT_SELECT'
            ? `views over ${sqlPath(path)} fail for others`
            : `${statementFor(section, writeRights[0], path)} fails`;
        return { problem, statement: failureText };
      },
    },
  ];
  if (section !== 'tables') return loopholes;
  const queryGate: Gate = {
    rules: queries?.filter(({ patterns }) => !patterns.has('queryOwner')),
    isAboutCatalogs: false,
    admits: (rule) => rule.rights.includes('execute'),
  };
  const listingGate: Gate = { rules: search.rulesMatching(JDBC_TABLES), isAboutCatalogs: false, admits: givesReading };
  return [
    ...loopholes,
    {
      code: 'rules-queries-closed',
      isReportedOnce: true,
      // If nobody may execute queries, another check reports that.
      mayApplyTo: (rule) =>
        givesSomething(rule) &&
        queryGate.rules?.some((each) => queryGate.admits(each)) === true &&
        shutsSomebodyOut(queryGate, rule),
      example(rule, _, { name }) {
        if (!shutsOut(queryGate, rule, name)) return null;
        const problem = 'gives something to people to whom "queries" does not allow execute';
        return { problem, statement: 'SELECT 1 fails' };
      },
    },
    {
      code: 'rules-listings-closed',
      isReportedOnce: true,
      mayApplyTo: (rule) => givesReading(rule) && shutsSomebodyOut(listingGate, rule) && !admitsNobody(queryGate, rule),
      example(rule, _, { name }) {
        if (!shutsOut(listingGate, rule, name)) return null;
        const problem = 'lets people read tables, but tools on JDBC cannot list them';
        return { problem, statement: `${sqlFor('SELECT', JDBC_TABLES)} fails` };
      },
    },
  ];
}

function statementFor(section: GatedSection, right = '', path: Path): string {
  switch (section) {
    case 'schemas':
      return `CREATE SCHEMA ${sqlPath(path)}`;
    case 'tables':
      return sqlFor(right, path);
    case 'functions':
      return `SELECT ${sqlPath(path)}(…)`;
    case 'procedures':
      return `CALL ${sqlPath(path)}(…)`;
    case 'catalog_session_properties':
      return `SET SESSION ${sqlPath(path)} = …`;
  }
}
