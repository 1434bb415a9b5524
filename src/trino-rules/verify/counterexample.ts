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
import { decidingRule, nameOfRule, type RuleAt, textOfRule } from '../engine/deciding-rule.js';
import { Evaluator } from '../engine/evaluator.js';
import { decide, type Decision } from '../model/decision.js';
import { memberOf, type Subject } from '../model/principal.js';
import { isAtNode, type Question } from '../model/question.js';
import { restrictsData } from '../model/restrictions.js';
import type { Snapshot } from '../model/snapshot.js';
import type { GuaranteeJudge } from './guarantee-judge.js';
import { type Bitset, differences } from '../engine/sparse-bitset.js';

/** Describes differences: the user, the node, the access, the grant or policy, and the rule that contradicts it. */
export class Counterexamples {
  private readonly evaluator: Evaluator;

  constructor(
    private readonly rules: RulesDocument,
    private readonly snapshot: Snapshot,
    patterns: PatternCache,
  ) {
    this.evaluator = new Evaluator(rules, patterns);
  }

  finding(difference: Difference): Finding {
    const { fact, subject } = difference;
    const rule = decidingRule(this.evaluator, fact, subject.name);
    return {
      code: 'proof-difference',
      severity: 'error',
      message: isRestriction(fact) ? this.restriction(difference, fact, rule) : this.permission(difference, fact, rule),
      ...(rule && { rule: nameOfRule(rule), witness: textOfRule(this.rules, rule) }),
    };
  }

  private permission({ subject, others, byRules }: Difference, fact: Question, rule: RuleAt | null) {
    const why = this.reasonFor(fact, subject, !byRules);
    const name = subjectText(subject, others);
    if (!byRules) return `${name} may ${describePermission(fact)}${why}, but ${this.denying(fact, subject, rule)}`;
    const gives = rule ? `rule ${nameOfRule(rule)} gives it` : 'the engine itself gives it where no rule matches';
    return `${name} may not ${describePermission(fact)}${why}, but ${gives}`;
  }

  private restriction({ subject, others, byRules }: Difference, fact: Restriction, rule: RuleAt | null): string {
    const name = subjectText(subject, others);
    const at = rule ? `rule ${nameOfRule(rule)}` : 'the rules';
    if (!byRules)
      return `${name} ${describeRestriction(fact)}${this.reasonFor(fact, subject, true)}, but ${at} does not see to it`;
    return `by ${at} ${name} ${describeRestriction(fact)}, but no policy says so`;
  }

  /** Describes the effect of the deciding rule, which contradicts the grants. */
  private denying(fact: AccessFact, subject: Subject, rule: RuleAt | null): string {
    if (rule === null) return `no rule gives it`;
    const at = `rule ${nameOfRule(rule)}`;
    const name = displayName(subject.name, 'a stranger');
    if (rule.section === 'catalogs') {
      return `${at} lets ${name} into the catalog in the mode ${this.rules.catalogs[rule.index]?.allow ?? 'none'}`;
    }
    if (fact.about !== 'privilege') return `${at} does not give it`;
    const privileges = this.rules.tables[rule.index]?.privileges ?? [];
    return privileges.length > 0 ? `${at} lets ${name} only ${privileges.join(', ')}` : `${at} gives ${name} nothing`;
  }

  /** The grants, denies, policies and settings behind the expected access. */
  private reasonFor(fact: AccessFact, subject: Subject, isGiven: boolean): string {
    if (subject.kind === 'stranger') return ' (no grant means anybody of that name)';
    if (subject.kind === 'person' && !subject.isActive) return ' (the account is deactivated)';
    const decision = decide(this.snapshot, memberOf(subject), questionOf(fact));
    if (isRestriction(fact)) return byPolicies(decision, fact);
    const isNamed = isAtNode(fact) || decision.grants.length > 0 || decision.denies.length > 0;
    if (fact.about === 'table-procedures' && !isGiven && decision.grants.length > 0) return ` (${REASON[fact.about]})`;
    return isNamed ? byGrants(decision, isGiven) : isGiven ? '' : ` (${REASON[fact.about]})`;
  }
}

/** The reason for a fact if neither a grant nor a deny is about it. */
const REASON: Record<Question['about'], string> = {
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

function byPolicies({ intent }: Decision, { about }: Restriction): string {
  const kind = (
    { 'row-filter': 'row_filter', 'hidden-column': 'hidden_column', 'column-mask': 'column_mask' } as const
  )[about];
  const ids = intent.policies.flatMap(({ source }) => (source.kind === kind ? [source.id] : []));
  if (ids.length === 0) return '';
  return ` by ${ids.length > 1 ? 'policies' : 'policy'} ${ids.join(', ')}`;
}

function byGrants({ grants, denies, intent }: Decision, isGiven: boolean): string {
  if (isGiven && intent.standing === 'service-account') return ' as a service account';
  if (isGiven && intent.standing === 'reaches-something') return ' like everybody who reaches something';
  const [deny] = denies;
  // Restrictions of data take routines only from users who have a grant of them.
  if (deny && !isGiven && (deny.source.kind === 'deny' || grants.length > 0))
    return ` (${deny.source.kind === 'deny' ? 'deny' : 'policy'} ${deny.source.id} takes it)`;
  const [grant, ...more] = grants;
  const restricting = [...intent.policies.map(({ source }) => source), ...intent.elsewhere].find(restrictsData);
  if (grant !== undefined && !isGiven && restricting) return ` (policy ${restricting.id} restricts the owner)`;
  if (grant === undefined || !isGiven) return ' (no grant gives it)';
  const through = typeof grant.through === 'object' ? ` (group ${grant.through.group.name})` : '';
  return ` by grant ${grant.source.id}${through}${more.length > 0 ? ` and ${more.length} more` : ''}`;
}

function subjectText(subject: Subject, others: number): string {
  return displayName(subject.name, 'a stranger') + (others > 0 ? ` (and ${others} more)` : '');
}

/** A difference: access by the rules that the grants do not give, or the other way round. */
interface Difference {
  fact: AccessFact;
  subject: Subject;
  /** Number of further users with the same difference. */
  others: number;
  byRules: boolean;
}

/** Counts all differences, and keeps the first ones for the report. */
export class Differences {
  readonly found: Difference[] = [];
  total = 0;

  constructor(
    private readonly subjects: readonly Subject[],
    private readonly keep: number,
    private readonly judge: GuaranteeJudge | null,
  ) {}

  /** Compares the active words of two sets, restricted to `among`. */
  compare(
    fact: () => AccessFact,
    active: Uint32Array,
    byRules: Bitset | null,
    byGrants: Bitset | null,
    among: Bitset | null = null,
  ): void {
    if (this.judge !== null && byRules !== null) this.judge.addHolders(fact(), active, byRules);
    const [extra, missing] = differences(active, byRules, byGrants, among);
    if (extra.length > 0) this.add(fact, extra, true);
    if (missing.length > 0) this.add(fact, missing, false);
  }

  private add(fact: () => AccessFact, positions: readonly number[], byRules: boolean): void {
    const subject = this.subjects[positions[0] ?? -1];
    if (subject === undefined) return;
    this.total++;
    if (this.found.length < this.keep)
      this.found.push({ fact: fact(), subject, others: positions.length - 1, byRules });
  }
}
