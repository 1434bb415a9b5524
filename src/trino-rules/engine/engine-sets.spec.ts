import fc from 'fast-check';
import { anyRules, RULE_NAMES } from '../../../test/support/snapshots/any-rules.js';
import { PatternCache } from '../document/pattern-cache.js';
import { NO_RULES, type RulesDocument, TABLE_PRIVILEGES } from '../document/rules-document.js';
import { type ActualAccess, SchemaTables } from './schema-tables.js';
import { EngineSets } from './engine-sets.js';
import { Evaluator, type TableName } from './evaluator.js';
import { WordMarks, type Bitset } from './sparse-bitset.js';
import { UserUniverse } from './user-universe.js';

const USERS = ['a', 'ab', 'b0', 'b1', 'axb', 'unknown'];
const NODES = [...RULE_NAMES, 'unnamed'];

describe('the engine, evaluated for all users at once', () => {
  it('gives the same answer for each table as for each user alone', () => {
    const table = fc.record({
      catalog: fc.constantFrom(...NODES),
      schema: fc.constantFrom(...NODES.filter((name) => name !== 'information_schema')),
      table: fc.constantFrom(...NODES),
    });
    fc.assert(
      fc.property(anyRules(), fc.array(table, { minLength: 10, maxLength: 10 }), (rules, tables) => {
        const engine = engineOf(rules);
        const evaluator = new Evaluator(rules);
        expect(tables.map((place) => ({ place, answers: answersAtOnce(engine, place) }))).toEqual(
          tables.map((place) => ({ place, answers: answersByUser(evaluator, place) })),
        );
      }),
      { numRuns: 60 },
    );
  });

  it('distinguishes open patterns that match the same new name', () => {
    const tables: RulesDocument['tables'] = [
      { catalog: 'a.*', privileges: [] },
      { catalog: 'a?.*', privileges: [], filter: 'true' },
    ];
    const rules = { ...NO_RULES, tables };
    const place = { catalog: 'b0', schema: 'a', table: 'a' };
    expect(answersAtOnce(engineOf(rules), place)).toEqual(answersByUser(new Evaluator(rules), place));
  });

  it('gives the same answer for each catalog and schema as for each user alone', () => {
    fc.assert(
      fc.property(anyRules(), fc.constantFrom(...NODES), fc.constantFrom(...NODES), (rules, catalog, schema) => {
        const engine = engineOf(rules);
        const evaluator = new Evaluator(rules);
        const modes = engine.usersByMode(catalog);
        const owners = engine.schemaOwners(catalog, schema, modes);
        const atOnce = USERS.map((user, position) => ({
          user,
          mode: has(modes.all, position) ? 'all' : has(modes.readOnly, position) ? 'read-only' : 'none',
          owns: has(owners, position),
        }));
        expect(atOnce).toEqual(
          USERS.map((user) => ({
            user,
            mode: evaluator.catalogMode(user, catalog),
            owns: evaluator.ownsSchema(user, { catalog, schema }),
          })),
        );
      }),
      { numRuns: 60 },
    );
  });
});

function engineOf(rules: RulesDocument): EngineSets {
  return new EngineSets(rules, new PatternCache(), new UserUniverse(USERS, [rules]));
}

function answersAtOnce(engine: EngineSets, { catalog, schema, table }: TableName): unknown[] {
  const tables = new SchemaTables(engine, catalog, schema, engine.usersByMode(catalog));
  const answers = USERS.map((_, position) => at(tables.unnamedTables, position));
  const marks = new WordMarks(engine.wordCount);
  tables.markWords(table, marks);
  const active = marks.takeIndexes();
  const outcome = tables.accessAt(table, active);
  for (const position of USERS.keys()) if (active.includes(position >>> 5)) answers[position] = at(outcome, position);
  return answers;
}

function at(
  { userSets: { usersByPrivilege, filters, hiddenColumns: hidden, masks } }: ActualAccess,
  position: number,
): unknown {
  const keys = (sets: ReadonlyMap<string, Bitset>) =>
    [...sets].flatMap(([key, set]) => (has(set, position) ? [key] : []));
  return {
    privileges: TABLE_PRIVILEGES.filter((privilege) => has(usersByPrivilege[privilege], position)),
    filter: keys(filters),
    hidden: keys(hidden).sort(),
    masks: [...masks].flatMap(([column, sets]) => keys(sets).map((mask) => [column, mask])).sort(),
  };
}

function answersByUser(evaluator: Evaluator, place: TableName): unknown[] {
  return USERS.map((user) => {
    const index = evaluator.tableRuleIndex(user, place);
    const { privileges = [], filter, columns = [] } = (index === null ? null : evaluator.rules.tables[index]) ?? {};
    return {
      privileges: TABLE_PRIVILEGES.filter((privilege) => privileges.includes(privilege)),
      filter: filter === undefined ? [] : [filter],
      hidden: columns.flatMap(({ name, allow }) => (allow === false ? [name] : [])).sort(),
      masks: columns.flatMap(({ name, mask }) => (mask === undefined ? [] : [[name, mask]])).sort(),
    };
  });
}

function has(words: Bitset, position: number): boolean {
  return ((words[position >>> 5] ?? 0) & (1 << (position & 31))) !== 0;
}
