import { getOrInsert } from '../../kernel/collections.js';
import { filterLeak } from '../../trino-rules/document/expression-warnings.js';
import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import { displayName, pathOf } from '../../trino-rules/engine/access-fact.js';
import {
  type Door,
  DoorSearch,
  type Gate,
  type Opening,
  type Path,
  type Person,
  sqlPath,
  sqlFor,
  type Through,
} from './door-search.js';
import type { ServiceSettings } from './file-invariants.js';
import { catalogMode, type ForeignRule, type ForeignRules, givesSomething, isColumn } from './foreign-rules.js';
import type { PlacedFinding } from './checks.js';
import { FAULTY_EXPRESSIONS, isMasked, reads } from './statement-faults.js';
import { SYSTEM } from '../../trino-rules/model/node.js';
import type { SectionName } from './engine-format.js';

/** Budget for a file, in steps of about ten nanoseconds. */
const STEPS = 60_000_000;
/** More rules that open table procedures are one finding, because most files have them. */
const MOST_PROCEDURE_RULES = 20;

/**
 * Ways around the restrictions of a file that a rule leaves open (seen on 483), and rules without effect because of their own expressions
 * or of other sections: one finding for each rule and way, with an example of a statement that the engine accepts, or refuses.
 */
export function openDoors(rules: ForeignRules, settings: ServiceSettings, at: number): PlacedFinding[] {
  const catalogs = rules.get('catalogs');
  const sections = GATED_SECTIONS.map(([section, levels]) => ({ section, levels, all: rules.get(section) ?? [] }));
  // The engine refuses the whole file, which has a finding of its own.
  const read = [...sections.flatMap(({ all }) => all), ...(catalogs ?? []), ...(rules.get('queries') ?? [])];
  if (read.some(({ isRefused }) => isRefused)) return [];
  const listed = [...(settings.externalTableCatalogs ?? []), ...(settings.rawColumnCatalogs ?? [])];
  const budget = new WorkBudget(STEPS);
  const found: PlacedFinding[] = [];
  try {
    for (const { section, levels, all } of sections) {
      const isOfTables = section === 'tables';
      const search = new DoorSearch(all, catalogs, listed, budget, levels, isOfTables ? rules.get('queries') : []);
      const doors = [...(isOfTables ? doorsOf(search, settings) : []), ...ineffectiveRules(section, search, rules)];
      for (const door of doors) findOpenings(door, search, found);
    }
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    const message =
      'which rules leave doors open, or are without effect, could not be found out: they are too intricate';
    found.push({ code: 'door-undecided', message, at });
  }
  return found;
}

function findOpenings(door: Door, search: DoorSearch, found: PlacedFinding[]): void {
  const rules = search.rules.filter((rule) => door.isIn(rule));
  const before = found.length;
  for (const rule of rules) {
    const beside = (path: Path): Iterable<ForeignRule> => door.otherRules?.(rule, path) ?? [rule];
    const ask = (path: Path, person: Person): Through | null => door.through(rule, path, person);
    const opening = search.findOpening(rule, door.mode ?? 'read-only', beside, ask);
    if (opening !== null) found.push(doorFinding(rule, door, opening));
    if (opening !== null && door.isOnce === true) return;
    if (door.code !== PROCEDURE || found.length - before <= MOST_PROCEDURE_RULES) continue;
    const [first] = found.splice(before);
    if (first !== undefined)
      found.push({ ...first, message: `${first.message}; so do ${rules.length - 1} more rules` });
    return;
  }
}

const PROCEDURE = 'door-procedure';

function doorFinding({ place, at }: ForeignRule, { code }: Door, opening: Opening<Through>): PlacedFinding {
  const { found, path, person, people, tables } = opening;
  const [catalog, schema, table] = path;
  const more = [
    ...(people > 1 ? [`${people - 1} more ${people === 2 ? 'person' : 'people'}`] : []),
    ...(tables > 1 ? [`${tables - 1} more ${tables === 2 ? 'table' : 'tables'}`] : []),
  ].join(' and ');
  const whom = `${personText(person)} on ${pathOf({ catalog, schema, ...(table !== undefined && { table }) })}${more && ` (and ${more})`}`;
  const by = found.by === undefined ? '' : `, by ${found.by.place} ${found.by.text}`;
  const witness = `${whom}: ${found.statement}${by}`;
  return { code, message: `${place} ${found.problem}`, at, rule: place, witness };
}

function personText({ name, groups }: Person): string {
  const who = displayName(name, groups.length === 0 ? 'anybody' : 'somebody');
  return groups.length === 0
    ? who
    : `${who} in ${groups.map((group) => displayName(group, 'any group')).join(' and ')}`;
}

/** Companion tables that connectors serve as `table$suffix`. */
const COMPANIONS = [
  ...['files', 'partitions', 'entries', 'all_entries', 'manifests', 'all_manifests', 'snapshots', 'history', 'refs'],
  ...['metadata_log_entries', 'properties', 'materialized_view_storage', 'transactions', 'timeline', 'view_definition'],
];
const STORAGE_COLUMNS = ['$path', '$partition', '$bucket'];
const RAW_COLUMNS = ['_message', '_key', '_headers', '_source', '_value'];

function doorsOf(search: DoorSearch, { externalTableCatalogs = [], rawColumnCatalogs = [] }: ServiceSettings): Door[] {
  return [
    companionDoor(search),
    {
      code: PROCEDURE,
      isIn: (rule) => isAlone(rule) && rule.filter === null && maskedIn(rule).length === 0,
      through: (_, path) => ({
        problem: 'gives reading alone, by which readers also change the table: ALTER TABLE … EXECUTE asks nothing else',
        statement: `ALTER TABLE ${sqlPath(path)} EXECUTE rollback_to_snapshot(…)`,
      }),
    },
    {
      code: 'door-truncate',
      mode: 'all',
      isIn: (rule) => rule.gives.includes('DELETE') && (isFiltered(rule) || maskedIn(rule).length > 0),
      through: (_, path) => ({
        problem: 'gives DELETE beside a filter or mask, and with it the rows of everybody',
        statement: `TRUNCATE TABLE ${sqlPath(path)}`,
      }),
    },
    {
      code: 'door-storage-column',
      isIn: (rule) => reads(rule) && maskedIn(rule).length + hiddenIn(rule).length > 0,
      through(rule, path) {
        const closed = new Set([...maskedIn(rule), ...hiddenIn(rule)]);
        const asked = [...STORAGE_COLUMNS, ...(rawColumnCatalogs.includes(path[0]) ? RAW_COLUMNS : [])];
        const open = asked.filter((name) => !closed.has(name)).map((name) => `"${name}"`);
        const problem = `hides or masks columns, whose values ${open.join(', ')} may show`;
        return open.length === 0 ? null : { problem, statement: `SELECT ${open.join(', ')} FROM ${sqlPath(path)}` };
      },
    },
    {
      code: 'door-filter',
      isIn: (rule) => reads(rule) && rule.filter !== null && filterLeak(rule.filter.text) !== null,
      through: ({ filter }, path) => ({
        problem: `has a filter that leaks: ${filterLeak(filter?.text ?? '') ?? ''}`,
        statement: `SELECT * FROM ${sqlPath(path)} WHERE IF(…, fail(column), true)`,
      }),
    },
    filesDoor(search, externalTableCatalogs),
    ...FAULTY_EXPRESSIONS,
  ];
}

function companionDoor(search: DoorSearch): Door {
  // The first two companions represent all that no rule spells out. A companion has no companions itself.
  const isSpelled = (suffix: string) => search.rules.some((rule) => rule.patterns.get('table')?.text.includes(suffix));
  const asked = COMPANIONS.filter((suffix, index) => index < 2 || isSpelled(suffix));
  const companions = ([catalog, schema, table = '']: Path): Path[] =>
    table.includes('$') ? [] : asked.map((suffix) => [catalog, schema, `${table}$${suffix}`]);
  return {
    code: 'door-companion',
    isIn: isRestricting,
    otherRules: (rule, path) =>
      companions(path).flatMap((companion) => {
        const about = search.rulesOn(companion);
        const end = about.findIndex((other) => search.includesPeople(other, rule));
        return about.slice(0, end < 0 ? undefined : end + 1).filter(isOpenToReaders);
      }),
    through(rule, path, person) {
      for (const companion of companions(path)) {
        const by = search.decider(companion, person);
        if (by === undefined || !isOpenToReaders(by)) continue;
        const problem = `${reads(rule) ? 'restricts' : 'closes'} a table whose companions stay open`;
        return { problem, statement: `SELECT * FROM ${sqlPath(companion)}`, by };
      }
      return null;
    },
  };
}

/** Ownership in catalogs where tables can be made over the files of others, for people with a restriction there. */
function filesDoor(search: DoorSearch, catalogs: readonly string[]): Door {
  const all = new Map<string, { rule: ForeignRule; path: Path }[]>();
  const restrictions = (catalog: string) =>
    getOrInsert(all, catalog, () => {
      const inCatalog = (rule: ForeignRule) => search.paths(rule).filter(([each]) => each === catalog);
      return search.rules.filter(isRestricting).flatMap((rule) => inCatalog(rule).map((path) => ({ rule, path })));
    });
  // A rule that gives nothing restricts only people to whom another rule gives the table.
  const isFelt = ({ rule, path }: { rule: ForeignRule; path: Path }, person: Person): boolean =>
    search.decider(path, person) === rule &&
    (reads(rule) || search.rulesOn(path).some((other) => reads(other) && search.isAbout(other, person)));
  return {
    code: 'door-files',
    mode: 'all',
    isIn: (rule) => rule.gives.includes('OWNERSHIP') && catalogs.some((each) => search.isAboutCatalog(rule, each)),
    otherRules: (_, [catalog]) => (catalogs.includes(catalog) ? restrictions(catalog).map(({ rule }) => rule) : []),
    through(_, path, person) {
      const by = restrictions(path[0]).find((each) => isFelt(each, person))?.rule;
      const problem = `gives ownership in ${path[0]}, where tables can be made over others' files, beside a restriction there`;
      const statement = `CREATE TABLE ${sqlPath(path)} (…) WITH (external_location = …)`;
      return by === undefined ? null : { problem, statement, by };
    },
  };
}

function isAlone(rule: ForeignRule): boolean {
  return reads(rule) && !['INSERT', 'UPDATE', 'DELETE', 'OWNERSHIP'].some((each) => rule.gives.includes(each));
}

function isFiltered({ filter }: ForeignRule): boolean {
  return filter !== null && !/^[\s(]*true[\s)]*$/i.test(filter.text);
}

function maskedIn({ columns }: ForeignRule): string[] {
  return columns.filter(isMasked).map(({ name }) => name);
}

function hiddenIn({ columns }: ForeignRule): string[] {
  return columns.flatMap(({ name, allow }) => (!allow && isColumn(name) ? name : []));
}

function isRestricting(rule: ForeignRule): boolean {
  return !reads(rule) || isFiltered(rule) || maskedIn(rule).length + hiddenIn(rule).length > 0;
}

/** False with a row filter: companions lack its columns, so the engine refuses to read them. */
function isOpenToReaders(rule: ForeignRule): boolean {
  return reads(rule) && !isFiltered(rule);
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

/** Rights that need the catalog's mode `all`. */
const WRITES = ['INSERT', 'UPDATE', 'DELETE', 'OWNERSHIP', 'GRANT_SELECT'];
/** The table from which JDBC drivers list tables. */
const LISTINGS: Path = [SYSTEM, 'jdbc', 'tables'];

/** Rules of a section without effect for their people: "catalogs" or "queries" keeps them out, or tools cannot list the tables. */
function ineffectiveRules(section: GatedSection, search: DoorSearch, rules: ForeignRules): Door[] {
  const [catalogs, queries] = [rules.get('catalogs'), rules.get('queries')];
  const entry: Gate = { rules: catalogs, isOfCatalogs: true, isOpen: (rule) => catalogMode(rule) !== 'none' };
  const writing: Gate = { ...entry, isOpen: (rule) => catalogMode(rule) === 'all' };
  const isShutToAll = (gate: Gate, rule: ForeignRule) => search.peopleShutOut(rule, gate) === null;
  const isShut = (gate: Gate, rule: ForeignRule) => search.peopleShutOut(rule, gate)?.length !== 0;
  const isShutTo = (gate: Gate, rule: ForeignRule, name: string) =>
    isShutToAll(gate, rule) || search.peopleShutOut(rule, gate)?.includes(name) === true;
  const writesOf = ({ gives }: ForeignRule) =>
    gives.filter((right) =>
      section === 'schemas' ? right === 'true' : section === 'tables' && WRITES.includes(right),
    );
  const doors: Door[] = [
    {
      code: 'rule-without-entry',
      mode: 'none',
      isIn: (rule) => givesSomething(rule) && isShut(entry, rule),
      through(rule, path, { name }) {
        if (!isShutTo(entry, rule, name)) return null;
        const [whom, them] = isShutToAll(entry, rule) ? ['its people', 'them'] : [name, name];
        const but = search.isAboutCatalog(rule, SYSTEM) ? ', but in system' : '';
        const problem = `gives ${whom} nothing${but}: "catalogs" lets ${them} enter no catalog of it`;
        return { problem, statement: `${statementFor(section, rule.gives[0], path)} fails` };
      },
    },
    {
      code: 'rule-read-only',
      isIn: (rule) => writesOf(rule).length > 0 && isShutToAll(writing, rule),
      through(rule, path) {
        const writes = section === 'schemas' ? ['ownership'] : writesOf(rule);
        const problem = `gives ${writes.join(', ')} without effect: "catalogs" lets its people only read there`;
        const refused =
          writes[0] === 'GRANT_SELECT'
            ? `views over ${sqlPath(path)} fail for others`
            : `${statementFor(section, writes[0], path)} fails`;
        return { problem, statement: refused };
      },
    },
  ];
  if (section !== 'tables') return doors;
  const running: Gate = {
    rules: queries?.filter(({ patterns }) => !patterns.has('queryOwner')),
    isOfCatalogs: false,
    isOpen: (rule) => rule.gives.includes('execute'),
  };
  const listing: Gate = { rules: search.rulesOn(LISTINGS), isOfCatalogs: false, isOpen: reads };
  return [
    ...doors,
    {
      code: 'rules-queries-closed',
      isOnce: true,
      // A file in which nobody may execute queries has another finding.
      isIn: (rule) =>
        givesSomething(rule) && running.rules?.some((each) => running.isOpen(each)) === true && isShut(running, rule),
      through(rule, _, { name }) {
        if (!isShutTo(running, rule, name)) return null;
        const problem = 'gives something to people to whom "queries" does not allow execute';
        return { problem, statement: 'SELECT 1 fails' };
      },
    },
    {
      code: 'rules-listings-closed',
      isOnce: true,
      isIn: (rule) => reads(rule) && isShut(listing, rule) && !isShutToAll(running, rule),
      through(rule, _, { name }) {
        if (!isShutTo(listing, rule, name)) return null;
        const problem = 'lets people read tables, but tools on JDBC cannot list them';
        return { problem, statement: `${sqlFor('SELECT', LISTINGS)} fails` };
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
