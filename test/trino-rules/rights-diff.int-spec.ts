import fc from 'fast-check';
import { runs } from '../support/landing.js';
import { anyRules } from '../support/snapshots/any-rules.js';
import { withinBudget } from '../support/rules/within-budget.js';
import { type AccessDifference, diffAccess } from '../../src/trino-rules/diff/access-diff.js';
import { FRESH_PREFIX } from '../../src/trino-rules/document/open-names.js';
import { PatternCache } from '../../src/trino-rules/document/pattern-cache.js';
import {
  FUNCTION_PRIVILEGES,
  type RulesDocument,
  SYSTEM_INFORMATION_RIGHTS,
} from '../../src/trino-rules/document/rules-document.js';
import { WorkBudget } from '../../src/trino-rules/document/work-budget.js';
import { isRestriction, unmarkRepresentative, renameFact } from '../../src/trino-rules/engine/access-fact.js';
import { Evaluator } from '../../src/trino-rules/engine/evaluator.js';
import { UserUniverse } from '../../src/trino-rules/engine/user-universe.js';
import type { Question } from '../../src/trino-rules/model/question.js';

/** What is beside data: one's own queries and those of others, acting as others, routines, the engine's own information. */
const NON_DATA: readonly Question['about'][] = ['queries', 'impersonation', 'routine', 'system-information'];
const MAX_NAMES = 2;
const NO_DATA = { schemas: [], tables: [], system_session_properties: [], catalog_session_properties: [] };

describe('the rights beside data that differ between two documents', () => {
  it('are those that the engine answers otherwise, for any two documents', () => {
    fc.assert(
      fc.property(nonDataRules(), nonDataRules(), (...documents) => {
        const diff = withinBudget(() => diffAccess(...documents, new WorkBudget(100_000_000)));
        fc.pre(diff !== null);
        const [before, after] = [new Evaluator(documents[0]), new Evaluator(documents[1])];
        const listed = { gained: pairs(diff.gained), lost: pairs(diff.lost) };
        const wrong = [
          ...listed.gained.filter(({ user, asked }) => before.allows(user, asked) || !after.allows(user, asked)),
          ...listed.lost.filter(({ user, asked }) => !before.allows(user, asked) || after.allows(user, asked)),
        ];
        const [gained, lost] = [listed.gained, listed.lost].map((all) => new Set(all.map(keyOf)));
        const missing = everyPair(documents).filter((pair) => {
          const [had, has] = [before, after].map((rules) => rules.allows(pair.user, pair.asked));
          return had !== has && !(has === true ? gained : lost)?.has(keyOf(pair));
        });
        expect({ wrong, missing: missing.slice(0, 3) }).toEqual({ wrong: [], missing: [] });
      }),
      { numRuns: runs(10) },
    );
  });
});

function nonDataRules(): fc.Arbitrary<RulesDocument> {
  return anyRules(4).map((rules) => ({ ...rules, ...NO_DATA }));
}

interface Pair {
  user: string;
  asked: Question;
}

function keyOf({ user, asked }: Pair): string {
  return JSON.stringify([user, Object.entries(asked).sort()]);
}

function pairs(differences: readonly AccessDifference[]): Pair[] {
  return differences.flatMap(({ fact, people, strangers }) => {
    const asked = renameFact(fact, unmarkRepresentative, unmarkRepresentative);
    if (isRestriction(asked) || !NON_DATA.includes(asked.about)) return [];
    return [...people, ...strangers].map((user) => ({ user: unmarkRepresentative(user), asked }));
  });
}

/** Each user and each other one, on names that the documents spell out, and on a fresh one. */
function everyPair(documents: readonly RulesDocument[]): Pair[] {
  const patterns = new PatternCache();
  const users = some(new UserUniverse([], documents, patterns, true).names());
  const isByOwner = documents.some(({ queries }) => queries.some(({ queryOwner }) => queryOwner !== undefined));
  const owners = isByOwner ? users : [undefined];
  const ofUsers: Question[] = [
    { about: 'queries', right: 'execute' },
    ...owners.flatMap((owner): Question[] => [
      { about: 'queries', right: 'view', owner },
      { about: 'queries', right: 'kill', owner },
    ]),
    ...SYSTEM_INFORMATION_RIGHTS.map((right): Question => ({ about: 'system-information', right })),
    ...users.map((newUser): Question => ({ about: 'impersonation', newUser })),
  ];
  const routines = (['function', 'procedure'] as const).flatMap((kind): Question[] => {
    const rules = documents.flatMap(({ functions, procedures }) =>
      kind === 'function'
        ? functions.map((rule) => ({ ...rule, routine: rule.function }))
        : procedures.map((rule) => ({ ...rule, routine: rule.procedure })),
    );
    // Below a node, the names of the rules that are about it: for all others, a fresh one stands.
    const at = (level: 'catalog' | 'schema' | 'routine', catalog?: string, schema?: string) =>
      some(
        rules
          .filter((rule) => catalog === undefined || patterns.matches(rule.catalog, catalog))
          .filter((rule) => schema === undefined || patterns.matches(rule.schema, schema))
          .flatMap((rule) => spelled(patterns, rule[level])),
      );
    return at('catalog').flatMap((catalog) =>
      at('schema', catalog).flatMap((schema) =>
        at('routine', catalog, schema).flatMap((routine) =>
          FUNCTION_PRIVILEGES.map((privilege): Question => ({
            about: 'routine',
            kind,
            resource: { catalog, schema, routine },
            privilege,
          })),
        ),
      ),
    );
  });
  const isOfOneself = (user: string, asked: Question): boolean =>
    (asked.about === 'queries' && asked.owner === user) || (asked.about === 'impersonation' && asked.newUser === user);
  return users.flatMap((user) =>
    [...ofUsers, ...routines].filter((asked) => !isOfOneself(user, asked)).map((asked) => ({ user, asked })),
  );
}

function spelled(patterns: PatternCache, text: string | undefined): string[] {
  const language = patterns.language(text);
  return language.kind === 'names' ? [...language.names] : language.kind === 'open' ? [...language.spelledNames] : [];
}

function some(names: readonly string[]): string[] {
  const all = [...new Set(names)].filter((name) => name !== '');
  return [...new Set([...all.filter((_, i) => i % Math.ceil(all.length / MAX_NAMES) === 0), FRESH_PREFIX])];
}
