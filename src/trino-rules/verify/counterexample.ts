import type { Finding } from '../document/finding.js';
import type { PatternCache } from '../document/pattern-cache.js';
import type { RulesDocument } from '../document/rules-document.js';
import {
  type AccessFact,
  describePermission,
  describeRestriction,
  displayName,
  isRestriction,
  type Restriction,
} from '../engine/access-fact.js';
import { decidingRule, nameOfRule, type RuleLocation, textOfRule } from '../engine/deciding-rule.js';
import { Evaluator } from '../engine/evaluator.js';
import { decide, type Decision } from '../model/decision.js';
import { toPrincipal, type Subject } from '../model/principal.js';
import { isNodeQuestion, type Question } from '../model/question.js';
import { restrictsData } from '../model/restrictions.js';
import type { Snapshot } from '../model/snapshot.js';
import type { GuaranteeJudge } from './guarantee-judge.js';
import { type Bitset, differences } from '../engine/sparse-bitset.js';

/** Describes differences between rules and grants: the user, the node, the access, the grant or policy, and the rule that contradicts it. */
export class Counterexamples {
  private readonly evaluator: Evaluator;

  constructor(
    private readonly rules: RulesDocument,
    private readonly snapshot: Snapshot,
    patterns: PatternCache,
  ) {
    this.evaluator = new Evaluator(rules, patterns);
  }

  findingFor(difference: Difference): Finding {
    const { fact, subject } = difference;
    const rule = decidingRule(this.evaluator, fact, subject.name);
    return {
      code: 'proof-difference',
      severity: 'error',
      message: isRestriction(fact)
        ? this.restrictionText(difference, fact, rule)
        : this.permissionText(difference, fact, rule),
      ...(rule && { rule: nameOfRule(rule), witness: textOfRule(this.rules, rule) }),
    };
  }

  private permissionText({ subject, othersCount, isByRules }: Difference, fact: Question, rule: RuleLocation | null) {
    const reason = this.reasonFor(fact, subject, !isByRules);
    const name = subjectText(subject, othersCount);
    if (!isByRules)
      return `${name} may ${describePermission(fact)}${reason}, but ${this.effectOfRule(fact, subject, rule)}`;
    const giverText = rule ? `rule ${nameOfRule(rule)} gives it` : 'the engine itself gives it where no rule matches';
    return `${name} may not ${describePermission(fact)}${reason}, but ${giverText}`;
  }

  private restrictionText(
    { subject, othersCount, isByRules }: Difference,
    fact: Restriction,
    rule: RuleLocation | null,
  ): string {
    const name = subjectText(subject, othersCount);
    const ruleName = rule ? `rule ${nameOfRule(rule)}` : 'the rules';
    if (!isByRules)
      return `${name} ${describeRestriction(fact)}${this.reasonFor(fact, subject, true)}, but ${ruleName} does not see to it`;
    return `by ${ruleName} ${name} ${describeRestriction(fact)}, but no policy says so`;
  }

  private effectOfRule(fact: AccessFact, subject: Subject, rule: RuleLocation | null): string {
    if (rule === null) return `no rule gives it`;
    const ruleName = `rule ${nameOfRule(rule)}`;
    const name = displayName(subject.name, 'a stranger');
    if (rule.section === 'catalogs') {
      return `${ruleName} lets ${name} into the catalog in the mode ${this.rules.catalogs[rule.index]?.allow ?? 'none'}`;
    }
    if (fact.about !== 'privilege') return `${ruleName} does not give it`;
    const privileges = this.rules.tables[rule.index]?.privileges ?? [];
    if (privileges.length === 0) return `${ruleName} gives ${name} nothing`;
    return `${ruleName} lets ${name} only ${privileges.join(', ')}`;
  }

  private reasonFor(fact: AccessFact, subject: Subject, isExpected: boolean): string {
    if (subject.kind === 'stranger') return ' (no grant means anybody of that name)';
    if (subject.kind === 'person' && !subject.isActive) return ' (the account is deactivated)';
    const decision = decide(this.snapshot, toPrincipal(subject), questionOf(fact));
    if (isRestriction(fact)) return policyReason(decision, fact);
    const isExplainedByGrants = isNodeQuestion(fact) || decision.grants.length > 0 || decision.denies.length > 0;
    if (fact.about === 'table-procedures' && !isExpected && decision.grants.length > 0)
      return ` (${REASON_WITHOUT_GRANT[fact.about]})`;
    return isExplainedByGrants
      ? grantReason(decision, isExpected)
      : isExpected
        ? ''
        : ` (${REASON_WITHOUT_GRANT[fact.about]})`;
  }
}

/** Texts that say why access is missing if no grant and no deny concerns this access. */
const REASON_WITHOUT_GRANT: Record<Question['about'], string> = {
  queries: "only those who reach something may execute, and no grant gives another's queries",
  impersonation:
    "no grant gives it, and only the service's own account becomes others without one: active people who reach something",
  routine: 'no grant gives it',
  'system-information': 'no grant gives it',
  'session-property': 'the settings do not say so',
  'catalog-mode': 'nothing there needs it',
  'schema-ownership': 'no grant gives it',
  privilege: 'no grant gives it',
  'table-procedures': 'who only reads, or reads some rows or values, changes nothing',
};

function questionOf(fact: AccessFact): Question {
  return isRestriction(fact) ? { about: 'privilege', resource: fact.resource, privilege: 'SELECT' } : fact;
}

function policyReason({ intent }: Decision, { about }: Restriction): string {
  const kind = (
    { 'row-filter': 'row_filter', 'hidden-column': 'hidden_column', 'column-mask': 'column_mask' } as const
  )[about];
  const ids = intent.policies.flatMap(({ source }) => (source.kind === kind ? [source.id] : []));
  if (ids.length === 0) return '';
  return ` by ${ids.length > 1 ? 'policies' : 'policy'} ${ids.join(', ')}`;
}

function grantReason({ grants, denies, intent }: Decision, isExpected: boolean): string {
  if (isExpected && intent.ungrantedSource === 'service-account') return ' as a service account';
  if (isExpected && intent.ungrantedSource === 'reaches-something') return ' like everybody who reaches something';
  const [deny] = denies;
  // A deny explains a missing right even without a grant. Another policy explains it only if the user has a grant of the right.
  if (deny && !isExpected && (deny.source.kind === 'deny' || grants.length > 0))
    return ` (${deny.source.kind === 'deny' ? 'deny' : 'policy'} ${deny.source.id} takes it)`;
  const [grant, ...others] = grants;
  const restriction = [...intent.policies.map(({ source }) => source), ...intent.policiesElsewhere].find(restrictsData);
  if (grant !== undefined && !isExpected && restriction) return ` (policy ${restriction.id} restricts the owner)`;
  if (grant === undefined || !isExpected) return ' (no grant gives it)';
  const throughText = typeof grant.through === 'object' ? ` (group ${grant.through.group.name})` : '';
  return ` by grant ${grant.source.id}${throughText}${others.length > 0 ? ` and ${others.length} more` : ''}`;
}

function subjectText(subject: Subject, othersCount: number): string {
  return displayName(subject.name, 'a stranger') + (othersCount > 0 ? ` (and ${othersCount} more)` : '');
}

/** Access that the rules give and the grants do not (`isByRules`), or the reverse. */
interface Difference {
  fact: AccessFact;
  subject: Subject;
  /** Number of users besides `subject` with the same difference. */
  othersCount: number;
  isByRules: boolean;
}

/** Counts all differences, and keeps the first ones for the report. */
export class Differences {
  readonly reportedDifferences: Difference[] = [];
  differenceCount = 0;

  constructor(
    private readonly subjects: readonly Subject[],
    private readonly maxReported: number,
    private readonly judge: GuaranteeJudge | null,
  ) {}

  compare(
    fact: () => AccessFact,
    activeWords: Uint32Array,
    usersInRules: Bitset | null,
    usersInGrants: Bitset | null,
    comparedUsers: Bitset | null = null,
  ): void {
    if (this.judge !== null && usersInRules !== null) this.judge.addHolders(fact(), activeWords, usersInRules);
    const [extra, missing] = differences(activeWords, usersInRules, usersInGrants, comparedUsers);
    if (extra.length > 0) this.addDifference(fact, extra, true);
    if (missing.length > 0) this.addDifference(fact, missing, false);
  }

  private addDifference(fact: () => AccessFact, positions: readonly number[], isByRules: boolean): void {
    const subject = this.subjects[positions[0] ?? -1];
    if (subject === undefined) return;
    this.differenceCount++;
    if (this.reportedDifferences.length < this.maxReported)
      this.reportedDifferences.push({ fact: fact(), subject, othersCount: positions.length - 1, isByRules });
  }
}
