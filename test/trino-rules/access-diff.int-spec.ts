import fc from 'fast-check';
import { runs } from '../support/landing.js';
import { anyRules } from '../support/snapshots/any-rules.js';
import { anySnapshot } from '../support/snapshots/any-snapshot.js';
import { withinBudget } from '../support/rules/within-budget.js';
import { rowFilterOf } from '../support/rules/table-limits.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import { PatternCache } from '../../src/trino-rules/document/pattern-cache.js';
import { PRIVILEGE_TERMS } from '../../src/trino-rules/model/privilege.js';
import { READERS_FILTER, type RulesDocument, TABLE_PRIVILEGES } from '../../src/trino-rules/document/rules-document.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { conjuncts } from '../../src/trino-rules/engine/schema-tables.js';
import { EngineSets } from '../../src/trino-rules/engine/engine-sets.js';
import { Evaluator, type TableName } from '../../src/trino-rules/engine/evaluator.js';
import { UserUniverse } from '../../src/trino-rules/engine/user-universe.js';
import { intentAt } from '../../src/trino-rules/model/intent.js';
import type { Principal } from '../../src/trino-rules/model/principal.js';
import { catalogMode } from '../../src/trino-rules/model/rights.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { diffAccess, type AccessDiff } from '../../src/trino-rules/diff/access-diff.js';

/** What one user has somewhere, as texts: `SELECT`, `filter (a)`, … */
type Held = (user: string, table: TableName) => Iterable<string>;

describe('the access that differs between two documents', () => {
  it('is the difference of the two intents, for everyone on every node', () => {
    fc.assert(
      fc.property(anySnapshot(), anySnapshot(), (before, after) => {
        const documents = [compile(before).document, compile(after).document] as const;
        expectDifference(diffAccess(...documents), documents, intended(before), intended(after));
      }),
      { numRuns: runs(20) },
    );
  });

  it('is the difference of what the engine answers, for any two documents', () => {
    fc.assert(
      fc.property(anyRules(4), anyRules(4), (...documents) => {
        const [had, has] = documents.map(answered);
        const diff = withinBudget(() => diffAccess(...documents, new WorkBudget(100_000_000)));
        fc.pre(diff !== null);
        if (had && has) expectDifference(diff, documents, had, has);
      }),
      { numRuns: runs(20) },
    );
  });
});

/** For each user and node of either document, and fresh ones: what one side has more is exactly what is listed. */
function expectDifference(
  { gained, lost }: AccessDiff,
  documents: readonly [RulesDocument, RulesDocument],
  had: Held,
  has: Held,
): void {
  const patterns = new PatternCache();
  const universe = new UserUniverse([], documents, patterns);
  const [a, b] = documents.map((document) => new EngineSets(document, patterns, universe));
  if (!a || !b) throw new Error('two documents');
  const both = [a, b];
  const wrong: unknown[] = [];
  const users = some(universe.names(), universe.names().at(-1) ?? '');
  const listed = { gained: byUserAndTable(gained, users), lost: byUserAndTable(lost, users) };
  for (const catalog of some(
    both.flatMap((side) => side.catalogNames()),
    a.freshName,
  )) {
    for (const schema of some(
      both.flatMap((side) => side.schemaNames(catalog)),
      a.freshName,
    )) {
      if (schema === 'information_schema') continue;
      const tables = both.flatMap((side) => [...side.tables.branch([catalog, schema]).names()]);
      for (const table of some(tables, a.freshName)) {
        for (const user of users) {
          const where = { catalog, schema, table };
          const [before, after] = [new Set(had(user, where)), new Set(has(user, where))];
          const key = JSON.stringify([user, where]);
          const more = (one: ReadonlySet<string>, other: ReadonlySet<string>) =>
            [...one].filter((fact) => !other.has(fact) && counts(fact, before, after));
          const [come, gone] = [more(after, before), more(before, after)];
          const expected = {
            gained: [...come.filter(isPrivilege), ...gone.filter((fact) => !isPrivilege(fact))].sort(),
            lost: [...gone.filter(isPrivilege), ...come.filter((fact) => !isPrivilege(fact))].sort(),
          };
          const found = { gained: listed.gained.get(key) ?? [], lost: listed.lost.get(key) ?? [] };
          if (JSON.stringify(found) !== JSON.stringify(expected)) wrong.push({ key, found, expected });
        }
      }
    }
  }
  expect(wrong).toEqual([]);
}

/** All of a few names; of many the first, the last and some between, because each level multiplies the questions. */
function some(names: readonly string[], fresh: string): Set<string> {
  const all = [...new Set([...names, fresh])];
  return new Set(all.filter((_, i) => i % Math.ceil(all.length / 4) === 0 || i === all.length - 1));
}

function isPrivilege(fact: string): boolean {
  return TABLE_PRIVILEGES.some((privilege) => privilege === fact);
}

/** Restrictions count for users with access before and after; a mask also only where the column is hidden neither before nor after. */
function counts(fact: string, before: ReadonlySet<string>, after: ReadonlySet<string>): boolean {
  if (isPrivilege(fact)) return true;
  const reaches = (held: ReadonlySet<string>) => TABLE_PRIVILEGES.some((privilege) => held.has(privilege));
  if (!reaches(before) || !reaches(after)) return false;
  const [, column] = /^mask (".*?") /.exec(fact) ?? [];
  return column === undefined || ![before, after].some((held) => held.has(`hidden ${column}`));
}

function byUserAndTable(differences: AccessDiff['gained'], users: ReadonlySet<string>): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { fact, people, strangers } of differences) {
    const text = textOf(fact);
    if (text === null || !('resource' in fact)) continue;
    const { catalog, schema, table } = fact.resource;
    for (const user of [...people, ...strangers]) {
      if (!users.has(user)) continue;
      const key = JSON.stringify([user, { catalog, schema, table }]);
      found.set(key, [...(found.get(key) ?? []), text].sort());
    }
  }
  return found;
}

function textOf(fact: AccessDiff['gained'][number]['fact']): string | null {
  if (fact.about === 'privilege') return fact.privilege;
  if (fact.about === 'row-filter') return restricts(fact.expression) ? `filter ${fact.expression}` : null;
  if (fact.about === 'hidden-column') return `hidden ${JSON.stringify(fact.column)}`;
  return fact.about === 'column-mask' ? `mask ${JSON.stringify(fact.column)} ${fact.expression}` : null;
}

function intended(snapshot: Snapshot): Held {
  const { users, settings } = snapshot;
  return (name, table) => {
    const user = users.find((each) => each.name === name);
    const principal: Principal = user ? { type: 'user', id: user.id } : { type: 'engine', name };
    if (table.catalog === settings.metadataCatalog) return [];
    const { privileges, filters, hiddenColumns: hidden, masks } = intentAt(snapshot, principal, table);
    if (catalogMode(snapshot, principal, table.catalog) === 'none') return [];
    return [
      ...privileges.flatMap((privilege) => PRIVILEGE_TERMS[privilege].tablePrivilege ?? []),
      ...filters.map((expression) => `filter (${expression})`),
      ...hidden.map((column) => `hidden ${JSON.stringify(column)}`),
      ...masks.map(({ column, expression }) => `mask ${JSON.stringify(column)} ${expression}`),
    ];
  };
}

/** One that lets every row through only stops table procedures, which are an access of their own. */
const restricts = (conjunct: string): boolean => conjunct !== READERS_FILTER;

function answered(document: RulesDocument): Held {
  const evaluator = new Evaluator(document);
  return (user, table) => {
    const privileges = TABLE_PRIVILEGES.filter((privilege) => evaluator.hasTablePrivilege(user, privilege, table));
    const filter = rowFilterOf(evaluator, user, table);
    const rule = document.tables[evaluator.tableRuleIndex(user, table) ?? -1];
    return [
      ...privileges,
      ...(filter === null
        ? []
        : conjuncts(filter)
            .filter(restricts)
            .map((conjunct) => `filter ${conjunct}`)),
      ...(rule?.columns ?? []).flatMap(({ name, allow, mask }) =>
        allow === false
          ? [`hidden ${JSON.stringify(name)}`]
          : mask === undefined
            ? []
            : [`mask ${JSON.stringify(name)} ${mask}`],
      ),
    ];
  };
}
