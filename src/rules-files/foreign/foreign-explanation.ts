import type { SectionName } from '../check/engine-format.js';
import { statementFault } from '../check/statement-faults.js';
import { type ForeignRule, type ForeignRules, groupPattern } from '../check/foreign-rules.js';
import { traceRules } from '../../trino-rules/answers/rule-trace.js';
import type { WorkBudget } from '../../trino-rules/document/work-budget.js';
import { decidingRule, lookupOf, type RuleLocation } from '../../trino-rules/engine/deciding-rule.js';
import { Evaluator } from '../../trino-rules/engine/evaluator.js';
import type { Question } from '../../trino-rules/model/question.js';
import { newPatternCache, SingleUserAudiences, type ListedUser } from './audiences.js';
import { foreignDocument } from './foreign-document.js';

export type ForeignExplanation =
  | {
      kind: 'decided';
      allowed: boolean;
      /** The rule that decides; null: no rule of the section matches, or the section is absent. */
      rule: ForeignRule | null;
      /** Rules that the engine tries before `rule`, among them catalog rules. */
      consideredRules: ForeignRule[];
      section: SectionName;
      isAbsent: boolean;
      /** Why the rule's filter or masks make the engine refuse the allowed statement; null: they do not. */
      refusalReason: string | null;
    }
  /** A rule that may decide. `message`: why it is not known whether the rule matches. */
  | { kind: 'undecided'; rule: ForeignRule; at: number; message: string; isForGroups: boolean };

/**
 * How the engine decides a question by the rules of a file that it accepts.
 * @param user with the groups that the engine's group provider gives; null: they are not known
 * @throws BudgetExceeded
 */
export function explainForeign(
  rules: ForeignRules,
  user: { name: string; groups: ListedUser['groups'] | null },
  question: Question,
  budget: WorkBudget,
): ForeignExplanation {
  const patterns = newPatternCache(budget);
  const singleUser = new SingleUserAudiences(user.name, user.groups, patterns);
  const conversion = foreignDocument(rules, singleUser, ({ text }) => text);
  const { document, unjudgedPatterns } = conversion;
  const evaluator = new Evaluator(document, patterns);
  const sourceRuleAt = (location: RuleLocation | null): ForeignRule | null => {
    const rule = location && document[location.section][location.index];
    return rule ? conversion.sourceOf(rule) : null;
  };
  const ruleTrace = traceRules(evaluator, user.name, question);
  const { section: askedSection, requiredCatalog } = lookupOf(question);
  const entryQuestion =
    requiredCatalog &&
    ({ about: 'catalog-mode', resource: { catalog: requiredCatalog.catalog }, mode: 'read-only' } as const);
  const entryRule = entryQuestion && decidingRule(evaluator, entryQuestion, user.name);
  const decidingRules = [entryRule ?? null, ruleTrace.rule].flatMap((at) => sourceRuleAt(at) ?? []);
  for (const rule of decidingRules) {
    const unjudgedPattern = unjudgedPatterns.find((each) => each.rule === rule);
    const problem = unjudgedPattern ?? unknownGroups(rule, singleUser);
    if (problem === null) continue;
    const { at, message } = problem;
    return { kind: 'undecided', rule, at, message, isForGroups: unjudgedPattern === undefined };
  }
  const isEntryDenied = requiredCatalog !== undefined && !evaluator.mayReadCatalog(user.name, requiredCatalog.catalog);
  const section = ruleTrace.rule?.section ?? (isEntryDenied ? 'catalogs' : askedSection);
  const rule = sourceRuleAt(ruleTrace.rule);
  const isAllowedByTableRule = ruleTrace.allowed && question.about === 'privilege' && rule?.section === 'tables';
  const fault = isAllowedByTableRule ? statementFault(rule, question.privilege) : null;
  const refusalReason = fault?.problem ?? null;
  return {
    kind: 'decided',
    allowed: ruleTrace.allowed && refusalReason === null,
    refusalReason,
    rule,
    consideredRules: ruleTrace.considered.flatMap((at) => sourceRuleAt(at) ?? []),
    section,
    isAbsent: !rules.has(section),
  };
}

function unknownGroups(rule: ForeignRule, user: SingleUserAudiences): { at: number; message: string } | null {
  const group = groupPattern(rule);
  if (group === undefined || user.audience(rule).canBeJudged) return null;
  return { at: group.at, message: `the rule is for groups, and those of ${user.name} are not known` };
}
