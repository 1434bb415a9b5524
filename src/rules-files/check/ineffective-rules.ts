import { SYSTEM } from '../../trino-rules/model/node.js';
import { catalogMode, type ForeignRule, type ForeignRules } from './foreign-rules.js';
import { type Door, type DoorSearch, type Gate, type Path, sql, sqlFor } from './door-search.js';
import type { SectionName } from './engine-format.js';
import { reads } from './statement-faults.js';

/** Sections whose rules give nothing to people who may not enter the catalog, with the fields that match their objects. */
export const GATED_SECTIONS = [
  ['schemas', ['catalog', 'schema']],
  ['tables', ['catalog', 'schema', 'table']],
  ['functions', ['catalog', 'schema', 'function']],
  ['procedures', ['catalog', 'schema', 'procedure']],
  ['catalog_session_properties', ['catalog', 'property']],
] as const satisfies readonly (readonly [SectionName, readonly string[]])[];

type GatedSection = (typeof GATED_SECTIONS)[number][0];

/** Rights that need the catalog's mode `all`. */
const WRITES = ['INSERT', 'UPDATE', 'DELETE', 'OWNERSHIP', 'GRANT_SELECT'];
/** By which a JDBC driver lists tables. */
const LISTINGS: Path = [SYSTEM, 'jdbc', 'tables'];

/** Rules of a section that are without effect for their people: "catalogs" or "queries" is shut to them, or tools cannot list the tables. */
export function ineffectiveRules(section: GatedSection, search: DoorSearch, rules: ForeignRules): Door[] {
  const [catalogs, queries] = [rules.get('catalogs'), rules.get('queries')];
  const entry: Gate = { rules: catalogs, isOfCatalogs: true, isOpen: (rule) => catalogMode(rule) !== 'none' };
  const writing: Gate = { ...entry, isOpen: (rule) => catalogMode(rule) === 'all' };
  const isShutToAll = (gate: Gate, rule: ForeignRule) => search.shutOut(rule, gate) === null;
  const isShut = (gate: Gate, rule: ForeignRule) => search.shutOut(rule, gate)?.length !== 0;
  const isShutTo = (gate: Gate, rule: ForeignRule, name: string) =>
    isShutToAll(gate, rule) || search.shutOut(rule, gate)?.includes(name) === true;
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
            ? `views over ${sql(path)} fail for others`
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
  const listing: Gate = { rules: search.about(LISTINGS), isOfCatalogs: false, isOpen: reads };
  return [
    ...doors,
    {
      code: 'rules-queries-closed',
      isOnce: true,
      // Where nobody may, that is reported.
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

function givesSomething({ gives }: ForeignRule): boolean {
  return gives.some((right) => right !== 'false');
}

function statementFor(section: GatedSection, right = '', path: Path): string {
  switch (section) {
    case 'schemas':
      return `CREATE SCHEMA ${sql(path)}`;
    case 'tables':
      return sqlFor(right, path);
    case 'functions':
      return `SELECT ${sql(path)}(…)`;
    case 'procedures':
      return `CALL ${sql(path)}(…)`;
    case 'catalog_session_properties':
      return `SET SESSION ${sql(path)} = …`;
  }
}
