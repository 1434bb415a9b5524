import type { SectionName } from '../check/engine-format.js';
import { statementFault } from '../check/statement-faults.js';
import { type ForeignRule, type ForeignRules, groupPattern } from '../check/foreign-rules.js';
import { traceRules } from '../../trino-rules/answers/rule-trace.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { decidingRule, lookupOf, type RuleAt } from '../../trino-rules/engine/deciding-rule.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Question } from '../../trino-rules/model/question.js';
import { foreignPatterns, AskedUser, type ListedUser } from './audiences.js';
import { foreignDocument } from './foreign-document.js';

export type ForeignExplanation =
  | {
      kind: 'decided';
      allowed: boolean;
      /** Null: no rule of the section matches, or it is absent. */
      rule: ForeignRule | null;
      /** The rules about the same names that the engine tries before `rule`, in its order. */
      considered: ForeignRule[];
      /** The section that decides. */
      section: SectionName;
      /** Whether the file lacks this section. */
      isAbsent: boolean;
      /** Why the engine refuses the statement although the rule gives the privilege: its filter or masks; null: it does not. */
      refusedFor: string | null;
    }
  /** A rule that would decide, and why it is not known whether it matches. */
  | { kind: 'undecided'; rule: ForeignRule; at: number; message: string; isForGroups: boolean };

/**
 * How the engine comes to its answer by the rules of any file that it loads.
 * @param user with the groups that the engine's group provider gives; null: they are not known
 * @throws BudgetExceeded
 */
export function explainForeign(
  rules: ForeignRules,
  user: { name: string; groups: ListedUser['groups'] | null },
  question: Question,
  budget: WorkBudget,
): ForeignExplanation {
  const patterns = foreignPatterns(budget);
  const asked = new AskedUser(user.name, user.groups, patterns);
  const foreign = foreignDocument(rules, asked, ({ text }) => text);
  const { document, unjudged } = foreign;
  const evaluator = new Evaluator(document, patterns);
  const sourceAt = (at: RuleAt | null): ForeignRule | null => {
    const rule = at && document[at.section][at.index];
    return rule ? foreign.sourceOf(rule) : null;
  };
  const trace = traceRules(evaluator, user.name, question);
  const { section: asksFor, gate } = lookupOf(question);
  const entering = gate && ({ about: 'catalog-mode', resource: { catalog: gate.catalog }, mode: 'read-only' } as const);
  const entry = entering && decidingRule(evaluator, entering, user.name);
  const deciding = [entry ?? null, trace.rule].flatMap((at) => sourceAt(at) ?? []);
  for (const rule of deciding) {
    const opaque = unjudged.find((each) => each.rule === rule);
    const problem = opaque ?? unknownGroups(rule, asked);
    if (problem !== null)
      return { kind: 'undecided', rule, at: problem.at, message: problem.message, isForGroups: opaque === undefined };
  }
  const isShut = gate !== undefined && !evaluator.mayRead(user.name, gate.catalog);
  const section = trace.rule?.section ?? (isShut ? 'catalogs' : asksFor);
  const rule = sourceAt(trace.rule);
  const isGiven = trace.allowed && question.about === 'privilege' && rule?.section === 'tables';
  const fault = isGiven ? statementFault(rule, question.privilege) : null;
  const refusedFor = fault?.problem ?? null;
  return {
    kind: 'decided',
    allowed: trace.allowed && refusedFor === null,
    refusedFor,
    rule,
    considered: trace.considered.flatMap((at) => sourceAt(at) ?? []),
    section,
    isAbsent: !rules.has(section),
  };
}

function unknownGroups(rule: ForeignRule, asked: AskedUser): { at: number; message: string } | null {
  const group = groupPattern(rule);
  if (group === undefined || asked.audience(rule).canBeJudged) return null;
  return { at: group.at, message: `the rule is for groups, and those of ${asked.name} are not known` };
}
