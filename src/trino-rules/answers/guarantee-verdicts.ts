import { getOrInsert } from '../../kernel/collections.js';
import type { Finding } from '../document/finding.js';
import type { RulesDocument } from '../document/rules-document.js';
import { onlyNamedLevels } from '../engine/access-fact.js';
import { decidingRule, nameOfRule, textOfRule } from '../engine/deciding-rule.js';
import { Evaluator } from '../engine/evaluator.js';
import { decide } from '../model/decision.js';
import { intentAt } from '../model/intent.js';
import { type Guarantee, isPerPrincipal, canRefuse } from '../model/guarantee.js';
import { type NamedNode, nodeKey } from '../model/node.js';
import { toPrincipal, principalText } from '../model/principal.js';
import { type Member, Principals } from '../model/principals.js';
import { type Privilege, privilegesGivenBy } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import {
  breachText,
  type GuaranteeJudge,
  MAX_WITNESSES,
  type Verdict,
  type Witness,
} from '../verify/guarantee-judge.js';
import type { PrincipalIndex } from '../verify/principal-index.js';
import { AccessIndex } from './access-index.js';

/** A breach with its cause: the grants that give the access or, for guarantees of the kind `always`, the policies that take it away. */
export interface GuaranteeWitness {
  principal: Member;
  /** The node, without the levels whose names were made up for the check. */
  resource: NamedNode & { column?: string };
  privilege: Privilege;
  /** The access in the second scope of a guarantee of the kind `apart`. */
  second?: Pick<GuaranteeWitness, 'resource' | 'privilege'>;
  grants: number[];
  policies: number[];
  through: 'directly' | 'everyone' | { group: { id: number; name: string } } | null;
  /** A sentence for people: the breach, and the change that would end it. */
  message: string;
}

export interface GuaranteeVerdict
  extends Pick<Guarantee, 'id' | 'name' | 'kind' | 'mode'>, Omit<Verdict, 'guarantee' | 'witnesses'> {
  witnesses: GuaranteeWitness[];
}

/** A person or engine principal with forbidden access, or without required access. */
type Breach = Witness & { principal: Member };

export interface JudgedRules {
  findings: Finding[];
  /** Verdicts on the guarantees of the snapshot; empty if the rules were not proved. */
  verdicts: GuaranteeVerdict[];
  breaches: Map<number, readonly Breach[]>;
}

export const GUARANTEE_BROKEN = 'guarantee-broken';
const UNKNOWN_SUBJECT = { kind: 'stranger', name: '' } as const;

/** Whether a breach already existed in a former snapshot. */
export type FormerBreachTest = (guarantee: Guarantee, breach: Breach) => boolean;

/** Creates a test whether a breach already existed in a former snapshot. @param breaches the former breaches, by the id of the guarantee */
export function formerBreaches(snapshot: Snapshot, breaches: JudgedRules['breaches']): FormerBreachTest {
  const principals = new Principals(snapshot);
  const keysByGuarantee = new Map<number, ReadonlySet<string>>();
  return (guarantee, breach) => {
    const keyOf = ({ principal, resource, privilege }: Breach): string =>
      JSON.stringify([principalText(principal), ...(isPerPrincipal(guarantee) ? [] : [nodeKey(resource), privilege])]);
    const { id, kind } = guarantee;
    const formerBreachKeys = getOrInsert(keysByGuarantee, id, () => new Set(breaches.get(id)?.map(keyOf)));
    if (formerBreachKeys.size === 0) return false;
    if (formerBreachKeys.has(keyOf(breach))) return true;
    // Nodes that only the new snapshot names are not in `breaches`. For them, the former access is computed.
    const isCovered =
      !isPerPrincipal(guarantee) && principals.policyAppliesThrough(guarantee, breach.principal) !== null;
    return isCovered && isPresentIn(snapshot, breach, principals) !== (kind === 'always');
  };
}

function isPresentIn(snapshot: Snapshot, breach: Breach, principals: Principals): boolean {
  const { principal, scope, resource, fact } = breach;
  const { column, isUnfiltered } = scope;
  if (column === undefined && !isUnfiltered) return decide(snapshot, principal, fact, principals).allowed;
  const { privileges, hiddenColumns, masks, filters } = intentAt(snapshot, principal, resource, principals);
  const showsRealValues =
    column === undefined || !(hiddenColumns.includes(column) || masks.some((mask) => mask.column === column));
  return privilegesGivenBy(privileges).has('SELECT') && showsRealValues && !(isUnfiltered && filters.length > 0);
}

/**
 * The verdicts on all guarantees, and a finding for each broken guarantee. `judge` must have received all access before this call.
 * @param rules the document from which findings name the deciding rule; null: there are no rules
 * @param isFormerBreach breaches for which this test returns true are counted but not listed
 */
export function verdictsOf(
  judge: GuaranteeJudge,
  rules: RulesDocument | null,
  snapshot: Snapshot,
  { subjects }: PrincipalIndex,
  isFormerBreach: FormerBreachTest | null,
): JudgedRules {
  let accessIndex: AccessIndex | null = null;
  // The evaluator has no work budget: a verdict must not fail only because the deciding rule takes long to find.
  let evaluator: Evaluator | null = null;
  const judgedRules: JudgedRules = { verdicts: [], findings: [], breaches: new Map() };
  for (const { guarantee, witnesses, ...verdictFields } of judge.verdicts()) {
    const { id, name, kind, mode } = guarantee;
    const memberAt = (position: number): Member => toPrincipal(subjects[position] ?? UNKNOWN_SUBJECT);
    const breaches = witnesses.map((each) => ({ ...each, principal: memberAt(each.userPosition) }));
    judgedRules.breaches.set(id, breaches);
    const newBreaches: typeof breaches = [];
    for (const breach of verdictFields.isBroken ? breaches : []) {
      if (newBreaches.length === MAX_WITNESSES) break;
      if (isFormerBreach?.(guarantee, breach) !== true) newBreaches.push(breach);
    }
    const shownWitnesses = newBreaches.map((each) =>
      witnessOf((accessIndex ??= new AccessIndex(snapshot)), guarantee, each.principal, each),
    );
    const verdict = { id, name, kind, mode, ...verdictFields, witnesses: shownWitnesses };
    judgedRules.verdicts.push(verdict);
    const [breach] = newBreaches;
    if (breach === undefined) continue;
    const rule = rules && decidingRule((evaluator ??= new Evaluator(rules)), breach.fact, breach.principal.name);
    judgedRules.findings.push({
      code: GUARANTEE_BROKEN,
      severity: canRefuse(guarantee) ? 'error' : 'warning',
      message: brokenText(verdict),
      ...(rules && rule && { rule: nameOfRule(rule), witness: textOfRule(rules, rule) }),
    });
  }
  return judgedRules;
}

/** A verdict with the field names of the API and the command line. */
export function verdictForm({ id, name, isBroken, witnesses }: GuaranteeVerdict) {
  return { id, name, state: isBroken ? ('broken' as const) : ('holds' as const), witnesses };
}

export type GuaranteeVerdictForm = ReturnType<typeof verdictForm>;

/** A sentence: `the guarantee "only payroll writes" is broken (3 in all): ana may INSERT …`. */
export function brokenText({ name, brokenBy, witnesses: [first] }: GuaranteeVerdict): string {
  return `the guarantee "${name}" is broken${brokenBy > 1 ? ` (${brokenBy} in all)` : ''}: ${first?.message ?? ''}`;
}

function witnessOf(index: AccessIndex, guarantee: Guarantee, principal: Member, witness: Witness): GuaranteeWitness {
  const { scope, resource, privilege, fact } = witness;
  const relevantSnapshot = 'resource' in fact ? index.snapshotOnPath(fact.resource) : index.snapshot;
  const { grants, denies, intent } = decide(relevantSnapshot, principal, fact, index.principals);
  const { column, isUnfiltered } = scope;
  const lacksAccess = guarantee.kind === 'always';
  const takingPolicies = column !== undefined || isUnfiltered ? intent.policies : denies;
  const origins = lacksAccess ? takingPolicies : grants;
  const sourceIds = [...new Set(origins.map(({ source }) => source.id))];
  const { through = null } = origins[0] ?? {};
  const group = typeof through === 'object' && through !== null ? through.group : null;
  const leavingText = group === null ? '' : `, or take ${principal.name} out of ${group.name}`;
  const sourceText = `${lacksAccess ? 'policy' : 'grant'} ${sourceIds.join(', ')}${group === null ? '' : ` through ${group.name}`}`;
  const remedyText = lacksAccess ? 'change it' : `revoke it${leavingText}`;
  const reason = sourceIds.length > 0 ? ` by ${sourceText}: ${remedyText}` : '';
  const message = `${breachText(guarantee, witness, principal.name)}${reason || (lacksAccess ? ': no grant gives it' : '')}`;
  const second = witness.secondWitness && witnessOf(index, guarantee, principal, witness.secondWitness);
  return {
    principal,
    resource: { ...index.principals.nodeWithName(onlyNamedLevels(resource)), ...(column !== undefined && { column }) },
    privilege,
    ...(second && { second: { resource: second.resource, privilege: second.privilege } }),
    grants: lacksAccess ? [] : [...new Set([...sourceIds, ...(second?.grants ?? [])])],
    policies: lacksAccess ? sourceIds : [],
    through: typeof through === 'string' ? through : group && { group: { id: group.id, name: group.name } },
    message: second === undefined ? message : `${message}; and ${second.message}`,
  };
}
