import { BudgetExceeded, WorkBudget } from '../../trino-rules/document/work-budget.js';
import type { SectionName } from './engine-format.js';
import type { ForeignRule, ForeignRules } from './foreign-rules.js';
import type { PlacedFinding } from './placed-finding.js';
import { SectionJudge, STEPS, undecided } from './section-judge.js';

/** The fields that rules of a section are matched by: the user first, then groups and objects. */
type Fields = readonly [user: string, ...objects: string[]];

/** By section, what the engine asks it, each question of the rules that have the last field alone where it asks several. */
const MATCHED: readonly (readonly [section: SectionName, ...questions: Fields[]])[] = [
  ['catalogs', ['user', 'group', 'catalog']],
  ['schemas', ['user', 'group', 'catalog', 'schema']],
  ['tables', ['user', 'group', 'catalog', 'schema', 'table']],
  ['functions', ['user', 'group', 'catalog', 'schema', 'function']],
  ['procedures', ['user', 'group', 'catalog', 'schema', 'procedure']],
  ['queries', ['user', 'group', 'queryOwner']],
  ['impersonation', ['original_user', 'new_user']],
  ['system_information', ['user']],
  ['authorization', ['original_user', 'original_group', 'new_user'], ['original_user', 'original_group', 'new_role']],
  ['system_session_properties', ['user', 'group', 'property']],
  ['catalog_session_properties', ['user', 'group', 'catalog', 'property']],
];

/**
 * Rules that never decide, because earlier ones match whatever they match, each with the rule that decides instead. A user in
 * several groups matches by any of them, so a rule for a group is one for each of its members.
 */
export function deadRules(rules: ForeignRules): PlacedFinding[] {
  const budget = new WorkBudget(STEPS);
  return MATCHED.flatMap(([section, ...questions]) => {
    // A role never matches, and what Java refuses is reported as such.
    const judged = (rules.get(section) ?? []).filter(isJudged);
    const asked = questions.map((fields) => {
      const isAsked = ({ patterns }: ForeignRule): boolean =>
        questions.length === 1 || patterns.has(fields.at(-1) ?? '');
      return { isAsked, ...answered(section, judged.filter(isAsked), fields, budget) };
    });
    const dead = judged.flatMap((rule) => {
      const verdicts = asked.filter(({ isAsked }) => isAsked(rule)).map(({ found }) => found.get(rule));
      const isDead = verdicts.every((verdict) => verdict !== undefined);
      return isDead ? (verdicts.find(({ code }) => code === 'dead-rule-undecided') ?? verdicts[0] ?? []) : [];
    });
    return [...dead, ...asked.flatMap(({ unfinished }) => unfinished ?? []).slice(0, 1)];
  });
}

interface Answered {
  found: ReadonlyMap<ForeignRule, PlacedFinding>;
  /** Null: every rule was judged. */
  unfinished: PlacedFinding | null;
}

function answered(section: SectionName, rules: readonly ForeignRule[], fields: Fields, budget: WorkBudget): Answered {
  const found = new Map<ForeignRule, PlacedFinding>();
  if (rules.length < 2) return { found, unfinished: null };
  try {
    new SectionJudge(rules, fields, budget).report(found);
    return { found, unfinished: null };
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error;
    const message = `which rules of "${section}" never decide could not be found out: they are too intricate`;
    return { found, unfinished: undecided(rules[0], message) };
  }
}

function isJudged({ patterns, isRefused }: ForeignRule): boolean {
  return !isRefused && !patterns.has('role') && !patterns.has('original_role');
}
