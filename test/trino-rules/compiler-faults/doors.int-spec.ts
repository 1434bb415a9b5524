import fc from 'fast-check';
import { compile } from '../../../src/trino-rules/compile/compile.js';
import { Evaluator } from '../../../src/trino-rules/engine/evaluator.js';
import type { RulesDocument } from '../../../src/trino-rules/document/rules-document.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { byEvaluator } from '../../support/rules/by-evaluator.js';
import { byIntent } from '../../support/rules/by-intent.js';
import { doorFaults } from '../../support/rules/document-fault.js';
import type { Answer, Question } from '../../support/rules/engine-question.js';
import { MetadataVisibility } from '../../support/rules/metadata-visibility.js';
import { proveRules } from '../../support/rules/prove-rules.js';
import { anySnapshot } from '../../support/snapshots/any-snapshot.js';
import { Chance } from '../../support/snapshots/chance.js';
import { wordsOf } from '../../support/snapshots/snapshot-words.js';
import { stopsEach } from './faulty-compilers.js';

const COMPANIONS = 'trino-rules/compile/companion-rules.js';
const SETS = 'trino-rules/compile/intent-sets.js';
const STATE = 'trino-rules/compile/access-state.js';
const TABLES = 'trino-rules/compile/table-rules.js';
const ACCOUNTS = 'trino-rules/compile/compile.js';

// Slips about what leads around a restriction: companions, columns of the storage, writing, table procedures, files of others.
stopsEach({
  // Companions
  'leaves the companions of restricted tables open': {
    file: TABLES,
    from: 'siblings.push(...companionSiblings(node, parent.access, principals));',
    to: ';',
    found: /ana \(and 1 more\) may not SELECT from ice\.pay\.bonuses\$… \(deny \d+ takes it\)/,
  },
  'leaves the companions of filtered tables open': {
    file: STATE,
    from: '((takenRights & SELECT) !== 0 || !restrictions.isEmpty)',
    to: '(takenRights & SELECT) !== 0',
    found: /wim may not SELECT from ice\.log\.t\$… \(policy \d+ takes it\)/,
  },
  'leaves the companions of denied tables open': {
    file: STATE,
    from: '((takenRights & SELECT) !== 0 || !restrictions.isEmpty)',
    to: '!restrictions.isEmpty',
    found: /ana .*may not SELECT from ice\.pay\.bonuses\$… \(deny \d+ takes it\)/,
  },
  'closes companions by a deny of other rights': {
    file: STATE,
    from: '((takenRights & SELECT) !== 0',
    to: '(takenRights !== 0',
    found: /gus may SELECT from ice\.pay\.orders\$… by grant \d+/,
  },
  'closes companions in system': {
    file: STATE,
    from: '(flags & CLOSED_CATALOG) === 0 && ((taken',
    to: '((taken',
    found: /nat .*may SELECT from system\.jdbc\.types\$… like everybody who reaches something/,
  },
  'closes a table and the companions of the first of two': {
    file: COMPANIONS,
    from: 'groupedPattern(namesWithCompanions)',
    to: 'groupedPattern(namesWithCompanions.slice(0, 1))',
    found: /ana .*may not SELECT from ice\.pay\.salaries\$… \(deny \d+ takes it\)/,
  },
  'closes the companions of the last of two names alone': {
    file: COMPANIONS,
    from: 'return isSequence(pattern) ? pattern',
    to: 'return true ? pattern',
    found: /the table of rule tables\[\d+\] holds \.\*, so that nothing can be proved/,
  },
  'closes companions to everybody': {
    file: TABLES,
    from: 'usersWithAccess.minus(usersWithClosedCompanions).minus(closedUsers).minus(serviceAccounts)',
    to: 'emptySet',
    found: /cy .*may SELECT from ice\.pay\.salaries\$… by grant \d+/,
  },
  'closes the table with its companions to those who have it': {
    file: COMPANIONS,
    from: 'people === null ? holders.isEmpty() : !holders.intersects(people)',
    to: 'true',
    found: /nat may INSERT into ice\.pay\.bonuses by grant \d+/,
  },
  'closes companions with the table to those who have them': {
    file: COMPANIONS,
    from: 'if (deniesNobody(counterpart))',
    to: 'if (!areCompanions(name) || deniesNobody(counterpart))',
    found: /nat may SELECT from system\.jdbc\.types\$… like everybody who reaches something/,
  },
  'leaves the companions in a restricted schema open': {
    file: TABLES,
    from: '...writer.wideRules(companionDenials(rectangles, siblings), scope,',
    to: "...writer.wideRules(scope === 'schema' ? [] : companionDenials(rectangles, siblings), scope,",
    found: /mia may not SELECT from hr\.staff\.…\$… \(policy \d+ takes it\)/,
  },
  'leaves the companions in a restricted catalog open': {
    file: TABLES,
    from: '...writer.wideRules(companionDenials(rectangles, siblings), scope,',
    to: "...writer.wideRules(scope === 'catalog' ? [] : companionDenials(rectangles, siblings), scope,",
    found: /oda may not SELECT from crm\..*\$… \(policy \d+ takes it\)/,
  },
  'leaves companions open where everything is restricted': {
    file: TABLES,
    from: '...writer.wideRules(companionDenials(rectangles, siblings), scope,',
    to: "...writer.wideRules(scope === 'everything' ? [] : companionDenials(rectangles, siblings), scope,",
    found: /quy may not SELECT from \(any other catalog\)\..*\$… \(policy \d+ takes it\)/,
  },
  'closes companions behind the rule that gives the schema': {
    file: TABLES,
    from: '...writer.wideRules(companionDenials(rectangles, siblings), scope, companionPatterns),\n                ...writer.rulesForRectangles(rectangles, scope, parentPatterns),',
    to: '...writer.rulesForRectangles(rectangles, scope, parentPatterns),\n                ...writer.wideRules(companionDenials(rectangles, siblings), scope, companionPatterns),',
    found: /mia may not SELECT from hr\.staff\.…\$… \(policy \d+ takes it\)/,
  },
  'closes companions in a schema to all whom its rules are about': {
    file: COMPANIONS,
    from: 'coveredUsers.and(closedUsers)',
    to: 'coveredUsers',
    found: /ned may SELECT from hr\.staff\.…\$… by grant \d+/,
  },
  'closes companions in a schema to everybody': {
    file: COMPANIONS,
    from: 'holders: holders.minus(closedUsers) }',
    to: 'holders: closedUsers.minus(closedUsers) }',
    found: /ned may SELECT from hr\.staff\.…\$… by grant \d+/,
  },
  'closes every table where it should close companions': {
    file: TABLES,
    from: '{ ...parentPatterns, table: ANY_COMPANION }',
    to: 'parentPatterns',
    found: /mia may SELECT from hr\.staff\.\(any other table\) by grant \d+/,
  },
  'gives a companion by its own name to whom it is closed': {
    file: SETS,
    from: '    closeCompanions(tree, principals);\n',
    to: '',
    found: /ana may not SELECT from ice\.pay\.salaries\$files \(deny \d+ takes it\)/,
  },
  'opens a catalog for a companion that is closed': {
    file: STATE,
    from: 'if (this.isClosedCompanion)',
    to: 'if (false)',
    found: /jan may not enter the catalog vault \(nothing there needs it\)/,
  },
  'forgets all but the longest name before a sign': {
    file: SETS,
    from: 'nameParts.flatMap((_, end) =>',
    to: 'nameParts.flatMap((_, end) => end < nameParts.length - 1 ? [] :',
    found: /max may not INSERT into ice\.nest\.a\$b\$c \(policy \d+ takes it\)/,
  },
  'forgets all but the shortest name before a sign': {
    file: SETS,
    from: 'nameParts.flatMap((_, end) =>',
    to: 'nameParts.flatMap((_, end) => end > 1 ? [] :',
    found: /lea may not SELECT from ice\.nest\.a\$b\$c \(policy \d+ takes it\)/,
  },
  'closes a companion by the restrictions of its schema alone': {
    file: SETS,
    from: '[root, catalog, schema, ...baseNodes]',
    to: '[root, catalog, schema]',
    found: /ana may not INSERT into ice\.pay\.salaries\$files/,
  },
  // Columns of the storage
  'shows the columns of the storage': {
    file: STATE,
    from: 'withHiddenColumns(rules, alsoHiddenColumns)',
    to: 'rules',
    found: /wim may not SELECT the column \$path of ice\.log\.t/,
  },
  'shows them beside masks': {
    file: STATE,
    from: 'withHiddenColumns(rules, alsoHiddenColumns)',
    to: '(rules.every(({ mask }) => mask === undefined) ? withHiddenColumns(rules, alsoHiddenColumns) : rules)',
    found: /eve may not SELECT the column \$path of ice\.pay\.orders/,
  },
  'shows them beside hidden columns': {
    file: STATE,
    from: 'withHiddenColumns(rules, alsoHiddenColumns)',
    to: '(rules.some(({ mask }) => mask !== undefined) ? withHiddenColumns(rules, alsoHiddenColumns) : rules)',
    found: /fay may not SELECT the column \$path of ice\.pay\./,
  },
  'shows them to writers': {
    file: STATE,
    from: '...(rights !== 0 && columns && { columns }),',
    to: "...(rights !== 0 && columns && { columns: (rights & WRITE_RIGHTS) === 0 ? columns : columns.filter(({ name }) => name[0] !== '$') }),",
    found: /fay may not SELECT the column \$path of ice\.pay\./,
  },
  'hides the path alone': {
    file: STATE,
    from: "['$bucket', '$partition', '$path']",
    to: "['$path']",
    found: /wim may not SELECT the column \$bucket of ice\.log\.t/,
  },
  'shows raw columns': {
    file: STATE,
    from: "(flags & HAS_RAW_COLUMNS) === 0 ? 'plain' : 'raw'",
    to: "'plain'",
    found: /vic may not SELECT the column _message of kafka\.topics\.t/,
  },
  'hides raw columns in every catalog': {
    file: STATE,
    from: "(flags & HAS_RAW_COLUMNS) === 0 ? 'plain' : 'raw'",
    to: "'raw'",
    found: /by rule tables\[\d+\] wim may not SELECT the column _message of ice\.log\.t, but no policy says so/,
  },
  // Writing
  'lets users truncate what they see in part': {
    file: STATE,
    from: "LOST_TO_FILTERS = bits(['DELETE', 'UPDATE'])",
    to: "LOST_TO_FILTERS = bits(['UPDATE'])",
    found: /dee may not DELETE from ice\.pay\.orders/,
  },
  'lets users update what they see in part': {
    file: STATE,
    from: "LOST_TO_FILTERS = bits(['DELETE', 'UPDATE'])",
    to: "LOST_TO_FILTERS = bits(['DELETE'])",
    found: /dee may not UPDATE ice\.pay\.orders/,
  },
  'lets nobody insert beside a filter': {
    file: STATE,
    from: "LOST_TO_FILTERS = bits(['DELETE', 'UPDATE'])",
    to: "LOST_TO_FILTERS = bits(['INSERT', 'DELETE', 'UPDATE'])",
    found: /dee may INSERT into ice\.pay\.orders by grant \d+/,
  },
  'lets users insert beside a mask': {
    file: STATE,
    from: "LOST_TO_MASKS = bits(['INSERT', 'DELETE', 'UPDATE'])",
    to: "LOST_TO_MASKS = bits(['DELETE', 'UPDATE'])",
    found: /eve may not INSERT into ice\.pay\.orders/,
  },
  'takes writing for a mask that a hidden column beats': {
    file: STATE,
    from: 'columns?.some(({ mask }) => mask !== undefined) === true',
    to: "restrictions.some(({ kind }) => kind === 'mask')",
    found: /fay may INSERT into ice\.pay\.orders by grant \d+/,
  },
  'takes writing for a hidden column': {
    file: STATE,
    from: 'columns?.some(({ mask }) => mask !== undefined) === true',
    to: 'columns !== undefined',
    found: /fay may INSERT into ice\.pay\.\(any other table\) by grant \d+/,
  },
  // Table procedures
  'lets readers run table procedures': {
    file: STATE,
    from: 'filter ?? (isReadOnly ? EVERY_ROW : undefined)',
    to: 'filter',
    found: /ana .*may not run table procedures .* on ice\.pay\.\(any other table\)/,
  },
  'lets them where a column is masked that the table may lack': {
    file: STATE,
    from: 'filter ?? (isReadOnly ? EVERY_ROW : undefined)',
    to: 'filter ?? (isReadOnly && !columns ? EVERY_ROW : undefined)',
    found: /eve may not run table procedures .* on ice\.pay\.orders/,
  },
  'takes table procedures from writers': {
    file: STATE,
    from: '(rights & WRITE_RIGHTS) === 0',
    to: 'true',
    found: /hal may run table procedures .* on ice\.log\./,
  },
  'takes them from those who delete': {
    file: STATE,
    from: "WRITE_RIGHTS = bits(['INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP'])",
    to: "WRITE_RIGHTS = bits(['INSERT', 'UPDATE', 'OWNERSHIP'])",
    found: /hal may run table procedures .* on ice\.log\./,
  },
  'leaves them to those who own no more than the schema': {
    file: STATE,
    from: "WRITE_RIGHTS = bits(['INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP'])",
    to: "WRITE_RIGHTS = bits(['INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'owner'])",
    found: /ida may not run table procedures .* on ice\.log\./,
  },
  'filters the tables of system': {
    file: STATE,
    from: 'OPEN_TO_READERS | CLOSED_CATALOG',
    to: 'OPEN_TO_READERS',
    found: /may run table procedures .* on system\.jdbc\./,
  },
  'closes table procedures where the settings open them': {
    file: STATE,
    from: 'OPEN_TO_READERS | CLOSED_CATALOG',
    to: 'CLOSED_CATALOG',
    found: /ana \(and \d+ more\) may run table procedures .* on ice\.pay\..* by grant 1/,
  },
  'lets service accounts run them where they only read': {
    file: ACCOUNTS,
    from: 'settings.readersMaintain ? {} : { filter: EVERY_ROW }',
    to: '{}',
    found: /service-account-\w+ .*may not run table procedures .* on tpch\./,
  },
  'filters what service accounts read where the settings open it': {
    file: ACCOUNTS,
    from: 'settings.readersMaintain ? {} : { filter: EVERY_ROW }',
    to: '{ filter: EVERY_ROW }',
    found: /service-account-\w+ .*may run table procedures .* on tpch\./,
  },
  // Files of others
  'leaves ownership where files are shared': {
    file: STATE,
    from: 'this.isRestricted || (this.flags & OWNERSHIP_TAKEN) !== 0',
    to: 'this.isRestricted',
    found: /sue may not have OWNERSHIP of hive\.mine\./,
  },
  'takes ownership in every catalog': {
    file: SETS,
    from: 'settings.externalTableCatalogs.filter(isOpenCatalog).flatMap(',
    to: "['hive', 'ice'].filter(isOpenCatalog).flatMap(",
    found: /uma may have OWNERSHIP of the schema ice\.mine by grant \d+/,
  },
  'takes ownership for restrictions of other catalogs': {
    file: SETS,
    from: 'readingRestrictions.filter(({ resource }) => [undefined, catalog].includes(resource.catalog))',
    to: 'readingRestrictions',
    found: /tom may have OWNERSHIP of the schema hive\.mine by grant \d+/,
  },
  'takes ownership for denies of other rights': {
    file: SETS,
    from: "entry.kind === 'take' ? entry.privileges.includes('SELECT')",
    to: "entry.kind === 'take' ? true",
    found: /tom may have OWNERSHIP of the schema hive\.mine by grant \d+/,
  },
});

describe('the proof, against rules that are changed at a door', () => {
  it('stops whatever lets anybody do more, or less', () => {
    const seen = { stopped: 0, passed: 0 };
    for (const [seed, snapshot] of fc.sample(anySnapshot(), 36).entries()) {
      const chance = new Chance(seed);
      const faults = doorFaults(compile(snapshot).document);
      for (const at of chance.sample(faults.length, Math.min(8, faults.length))) {
        const rules = faults[at];
        if (rules === undefined) continue;
        if (proveRules(rules, snapshot).length > 0) {
          seen.stopped++;
          continue;
        }
        seen.passed++;
        expect({ snapshot, rules, differing: differing(rules, snapshot, chance) }).toMatchObject({ differing: [] });
      }
    }
    expect(seen.stopped + seen.passed).toBeGreaterThanOrEqual(200);
    // Some change nothing, such as a companion's name in a catalog that the user may not enter.
    expect(seen.stopped).toBeGreaterThan(seen.passed);
  });
});

/** Questions about tables and companions that the rules answer otherwise than is meant. */
function differing(rules: RulesDocument, snapshot: Snapshot, chance: Chance): { question: Question; meant: Answer }[] {
  const evaluator = new Evaluator(rules);
  const listings = new MetadataVisibility(evaluator);
  return doorQuestions(snapshot, chance).flatMap((question) => {
    const meant = byIntent(snapshot, question);
    const isSame = JSON.stringify(byEvaluator(evaluator, listings, question)) === JSON.stringify(meant);
    return meant === undefined || isSame ? [] : [{ question, meant }];
  });
}

function doorQuestions(snapshot: Snapshot, chance: Chance): Question[] {
  const { users, catalogs, schemas, tables, columns } = wordsOf(snapshot);
  const one = (names: readonly string[]): string => names[chance.below(names.length)] ?? '';
  return Array.from({ length: 80 }, (): Question[] => {
    const at = { user: one(users), catalog: one(catalogs), schema: one(schemas), table: one(tables) };
    const every = { ...at, columns: [...columns] };
    return [
      ...columns.map((name): Question => ({ ...at, ask: 'select', columns: [name] })),
      ...(['insert', 'delete', 'update', 'create-table', 'filters'] as const).map((ask): Question => ({
        ...every,
        ask,
      })),
      { ...every, ask: 'table-procedure' },
    ];
  }).flat();
}
