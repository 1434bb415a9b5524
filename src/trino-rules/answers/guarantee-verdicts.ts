import { getOrInsert } from '../../kernel/collections.js';
import type { Finding } from '../document/finding.js';
import { namedLevels } from '../engine/access-fact.js';
import { decidingRule, nameOfRule, textOfRule } from '../engine/deciding-rule.js';
import type { EngineSets } from '../engine/engine-sets.js';
import { Evaluator } from '../engine/evaluator.js';
import { decide } from '../model/decision.js';
import { intentAt } from '../model/intent.js';
import { type Guarantee, isAboutPeople, isRefusing } from '../model/guarantee.js';
import { type NamedNode, nodeKey } from '../model/node.js';
import { memberOf, type PolicyPrincipal, principalText } from '../model/principal.js';
import { isServiceAccount, type Member, Principals } from '../model/principals.js';
import { type Privilege, withContained } from '../model/privilege.js';
import type { Snapshot } from '../model/snapshot.js';
import {
  breachText,
  type GuaranteeJudge,
  MOST_WITNESSES,
  type Verdict,
  type Witness,
} from '../verify/guarantee-judge.js';
import type { PrincipalIndex } from '../verify/principal-index.js';
import { AccessIndex } from './access-index.js';

/** A breach with the grants that give it or, of `always`, the policies by which access is missing. */
export interface GuaranteeWitness {
  principal: Member;
  /** Without the levels that have fresh names. */
  resource: NamedNode & { column?: string };
  privilege: Privilege;
  /** Of `apart`: what the principal has besides. */
  second?: Pick<GuaranteeWitness, 'resource' | 'privilege'>;
  grants: number[];
  policies: number[];
  through: 'directly' | 'everyone' | { group: { id: number; name: string } } | null;
  /** In words, with what ends it. */
  message: string;
}

export interface GuaranteeVerdict
  extends Pick<Guarantee, 'id' | 'name' | 'kind' | 'mode'>, Omit<Verdict, 'guarantee' | 'witnesses'> {
  witnesses: GuaranteeWitness[];
}

/** A person or engine principal that has what it must not have, or lacks what it must have. */
type Breach = Witness & { principal: Member };

export interface JudgedRules {
  findings: Finding[];
  /** Verdicts on the guarantees of the snapshot; empty if the rules were not proved. */
  verdicts: GuaranteeVerdict[];
  /** By the id of the guarantee. */
  breaches: Map<number, readonly Breach[]>;
}

export const GUARANTEE_BROKEN = 'guarantee-broken';
const NOBODY = { kind: 'stranger', name: '' } as const;

/** Whether a breach was one before. */
export type FormerBreaches = (guarantee: Guarantee, breach: Breach) => boolean;

/** @param breaches of a former snapshot, by the ids of its guarantees */
export function formerBreaches(snapshot: Snapshot, breaches: JudgedRules['breaches']): FormerBreaches {
  const principals = new Principals(snapshot);
  const keys = new Map<number, ReadonlySet<string>>();
  return (guarantee, breach) => {
    const key = ({ principal, resource, privilege }: Breach): string =>
      JSON.stringify([principalText(principal), ...(isAboutPeople(guarantee) ? [] : [nodeKey(resource), privilege])]);
    const before = getOrInsert(keys, guarantee.id, () => new Set(breaches.get(guarantee.id)?.map(key)));
    if (before.size === 0) return false;
    if (before.has(key(breach))) return true;
    // The breach may be at a node that only the later snapshot names, with the access of the node above.
    const mayBe = !isAboutPeople(guarantee) && isCounted(snapshot, guarantee, breach.principal, principals);
    return mayBe && isHeld(snapshot, breach, principals) !== (guarantee.kind === 'always');
  };
}

/** Whether a guarantee is about a principal. @param principals of the snapshot */
function isCounted(
  snapshot: Snapshot,
  { principal, except }: Guarantee,
  member: Member,
  principals: Principals,
): boolean {
  const text = principalText(member);
  const isIn = (named: PolicyPrincipal): boolean =>
    principals.members(named).has(text) || (named.type === 'engine' && principalText(named) === text);
  return !isServiceAccount(snapshot, member) && isIn(principal) && !except.some(isIn);
}

function isHeld(snapshot: Snapshot, breach: Breach, principals: Principals): boolean {
  const { principal, scope, resource, fact } = breach;
  const { column, isUnfiltered } = scope;
  if (column === undefined && !isUnfiltered) return decide(snapshot, principal, fact, principals).allowed;
  const { privileges, hidden, masks, filters } = intentAt(snapshot, principal, resource, principals);
  const isReal = column === undefined || !(hidden.includes(column) || masks.some((mask) => mask.column === column));
  return withContained(privileges).has('SELECT') && isReal && !(isUnfiltered && filters.length > 0);
}

/**
 * The verdicts of a judge that has seen all facts of the proof, and a finding for each broken guarantee.
 * @param former its breaches are no witnesses
 */
export function verdictsOf(
  judge: GuaranteeJudge,
  { rules }: EngineSets,
  snapshot: Snapshot,
  { subjects }: PrincipalIndex,
  former: FormerBreaches | null,
): JudgedRules {
  let index: AccessIndex | null = null;
  // Has no budget, unlike the checks: a verdict must not fail because the deciding rule cannot be found in time.
  let evaluator: Evaluator | null = null;
  const parts = new Map<string, AccessIndex>();
  const partOf = (principal: Member): AccessIndex => {
    const whole = (index ??= new AccessIndex(snapshot));
    return getOrInsert(parts, principalText(principal), () => new AccessIndex(whole.of(principal), whole.principals));
  };
  const told: JudgedRules = { verdicts: [], findings: [], breaches: new Map() };
  for (const { guarantee, witnesses, ...rest } of judge.verdicts()) {
    const { id, name, kind, mode } = guarantee;
    const found = witnesses.map((each) => ({ ...each, principal: memberOf(subjects[each.position] ?? NOBODY) }));
    told.breaches.set(id, found);
    const added: typeof found = [];
    for (const each of rest.isBroken ? found : []) {
      if (added.length === MOST_WITNESSES) break;
      if (former?.(guarantee, each) !== true) added.push(each);
    }
    const shown = added.map((each) => witnessOf(partOf(each.principal), guarantee, each.principal, each));
    const verdict = { id, name, kind, mode, ...rest, witnesses: shown };
    told.verdicts.push(verdict);
    const [first] = added;
    if (first === undefined) continue;
    const rule = decidingRule((evaluator ??= new Evaluator(rules)), first.fact, first.principal.name);
    told.findings.push({
      code: GUARANTEE_BROKEN,
      severity: isRefusing(guarantee) ? 'error' : 'warning',
      message: brokenText(verdict),
      ...(rule && { rule: nameOfRule(rule), witness: textOfRule(rules, rule) }),
    });
  }
  return told;
}

/** In the names of the API and the command line. */
export function verdictForm({ id, name, isBroken, witnesses }: GuaranteeVerdict) {
  return { id, name, state: isBroken ? ('broken' as const) : ('holds' as const), witnesses };
}

export type GuaranteeVerdictForm = ReturnType<typeof verdictForm>;

/** `the guarantee "only payroll writes" is broken (3 in all): ana may INSERT …` */
export function brokenText({ name, brokenBy, witnesses: [first] }: GuaranteeVerdict): string {
  return `the guarantee "${name}" is broken${brokenBy > 1 ? ` (${brokenBy} in all)` : ''}: ${first?.message ?? ''}`;
}

/** @param index of the principal's entries */
function witnessOf(index: AccessIndex, guarantee: Guarantee, principal: Member, witness: Witness): GuaranteeWitness {
  const { scope, resource, privilege, fact } = witness;
  const part = 'resource' in fact ? index.onPath(fact.resource) : index.snapshot;
  const { grants, denies, intent } = decide(part, principal, fact, index.principals);
  const { column, isUnfiltered } = scope;
  const isMissing = guarantee.kind === 'always';
  const taking = column !== undefined || isUnfiltered ? intent.policies : denies;
  const sources = isMissing ? taking : grants;
  const ids = [...new Set(sources.map(({ source }) => source.id))];
  const { through = null } = sources[0] ?? {};
  const group = typeof through === 'object' && through !== null ? through.group : null;
  const leaving = group === null ? '' : `, or take ${principal.name} out of ${group.name}`;
  const by = `${isMissing ? 'policy' : 'grant'} ${ids.join(', ')}${group === null ? '' : ` through ${group.name}`}`;
  const reason = ids.length > 0 ? ` by ${by}: ${isMissing ? 'change it' : `revoke it${leaving}`}` : '';
  const message = `${breachText(guarantee, witness, principal.name)}${reason || (isMissing ? ': no grant gives it' : '')}`;
  const second = witness.second && witnessOf(index, guarantee, principal, witness.second);
  return {
    principal,
    resource: { ...index.principals.namedNode(namedLevels(resource)), ...(column !== undefined && { column }) },
    privilege,
    ...(second && { second: { resource: second.resource, privilege: second.privilege } }),
    grants: isMissing ? [] : [...new Set([...ids, ...(second?.grants ?? [])])],
    policies: isMissing ? ids : [],
    through: typeof through === 'string' ? through : group && { group: { id: group.id, name: group.name } },
    message: second === undefined ? message : `${message}; and ${second.message}`,
  };
}
