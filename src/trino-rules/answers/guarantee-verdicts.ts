import { getOrInsert } from '../../kernel/collections.js';
import type { Finding } from '../document/finding.js';
import { isRestriction, namedLevels } from '../engine/access-fact.js';
import { decidingRule, nameOfRule, textOfRule } from '../engine/deciding-rule.js';
import type { EngineSets } from '../engine/engine-sets.js';
import { Evaluator } from '../engine/evaluator.js';
import { decide } from '../model/decision.js';
import { type Breach, isBreach, isCounted } from '../model/guarantee-breaches.js';
import { type Guarantee, isRefusing } from '../model/guarantee.js';
import { type NamedNode, nodeKey } from '../model/node.js';
import { memberOf, principalText } from '../model/principal.js';
import { type Member, Principals } from '../model/principals.js';
import type { Snapshot } from '../model/snapshot.js';
import { breachText, GuaranteeJudge, MOST_WITNESSES, type Verdict, type Witness } from '../verify/guarantee-judge.js';
import type { PrincipalIndex } from '../verify/principal-index.js';
import { AccessIndex } from './access-index.js';

/** A breach with the grants that give it or, of `always`, the policies by which access is missing. */
export interface GuaranteeWitness extends Breach {
  /** Without the levels that have fresh names. */
  resource: NamedNode & { column?: string };
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

export const GUARANTEE_BROKEN = 'guarantee-broken';
const NOBODY = { kind: 'stranger', name: '' } as const;

/** Whether a breach was one before. */
export type FormerBreaches = (guarantee: Guarantee, breach: Breach) => boolean;

/** @param breaches of a former snapshot, by the ids of its guarantees */
export function formerBreaches(snapshot: Snapshot, breaches: ReadonlyMap<number, readonly Breach[]>): FormerBreaches {
  const principals = new Principals(snapshot);
  const keys = new Map<number, ReadonlySet<string>>();
  return (guarantee, breach) => {
    // `apart` and `at_most` are about principals, whatever the node.
    const isOfPrincipal = guarantee.kind === 'apart' || guarantee.kind === 'at_most';
    const key = ({ principal, resource, privilege }: Breach): string =>
      isOfPrincipal ? principalText(principal) : [principalText(principal), nodeKey(resource), privilege].join('\0');
    const before = breaches.get(guarantee.id) ?? [];
    if (before.length === 0) return false;
    if (getOrInsert(keys, guarantee.id, () => new Set(before.map(key))).has(key(breach))) return true;
    // The breach may be at a node that only the later snapshot names, with the access of the node above.
    const mayBe = !isOfPrincipal && isCounted(snapshot, guarantee, breach.principal, principals);
    return mayBe && guarantee.scopes.some((scope) => isBreach(snapshot, guarantee, scope, breach, principals));
  };
}

/** Judges the guarantees of a snapshot while its rules are proved, with the users of `principals`. */
export function guaranteeJudge(
  engine: EngineSets,
  snapshot: Snapshot,
  principals: PrincipalIndex,
  most: number,
): GuaranteeJudge {
  const users = {
    width: engine.width,
    positionsOf: principals.resolvePrincipal.bind(principals),
    named: engine.people.named.bind(engine.people),
    isUnnamed: () => false,
    metadataCatalog: snapshot.settings.metadataCatalog,
  };
  return new GuaranteeJudge(snapshot.guarantees ?? [], users, most);
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
): { verdicts: GuaranteeVerdict[]; findings: Finding[]; breaches: Map<number, Breach[]> } {
  let index: AccessIndex | null = null;
  // Has no budget, unlike the checks: a verdict must not fail because the deciding rule cannot be found in time.
  let evaluator: Evaluator | null = null;
  const parts = new Map<string, AccessIndex>();
  const partOf = (principal: Member): AccessIndex => {
    const whole = (index ??= new AccessIndex(snapshot));
    return getOrInsert(parts, principalText(principal), () => new AccessIndex(whole.of(principal), whole.principals));
  };
  const told: ReturnType<typeof verdictsOf> = { verdicts: [], findings: [], breaches: new Map() };
  for (const { guarantee, witnesses: all, isBroken, ...rest } of judge.verdicts()) {
    const { id, name, kind, mode } = guarantee;
    const found = all.map(({ position, ...each }) => ({ ...each, principal: memberOf(subjects[position] ?? NOBODY) }));
    told.breaches.set(id, found);
    const added: typeof found = [];
    for (const each of isBroken ? found : []) {
      if (added.length === MOST_WITNESSES * guarantee.scopes.length) break;
      if (former?.(guarantee, each) !== true) added.push(each);
    }
    const shown = added.map((each, i) => witnessOf(partOf(each.principal), guarantee, i, each));
    const verdict = {
      ...{ id, name, kind, mode, isBroken, ...rest },
      witnesses: kind === 'apart' ? paired(shown) : shown,
    };
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
function witnessOf(
  index: AccessIndex,
  guarantee: Guarantee,
  place: number,
  { principal, resource, privilege, fact }: Omit<Witness, 'position'> & Breach,
): GuaranteeWitness {
  const part = 'resource' in fact ? index.onPath(fact.resource) : index.snapshot;
  const asked = isRestriction(fact) ? { ...fact, about: 'privilege' as const, privilege: 'SELECT' as const } : fact;
  const { grants, denies, intent } = decide(part, principal, asked, index.principals);
  const { column, isUnfiltered } = guarantee.scopes[place % guarantee.scopes.length] ?? {};
  const isMissing = guarantee.kind === 'always';
  const taking = column !== undefined || isUnfiltered === true ? intent.policies : denies;
  const sources = isMissing ? taking : grants;
  const { through: by = null } = sources[0] ?? {};
  const through = by === null || typeof by === 'string' ? by : { group: { id: by.group.id, name: by.group.name } };
  const ids = [...new Set(sources.map(({ source }) => source.id))];
  const group = through === null || typeof through === 'string' ? null : through.group.name;
  const listed = `${isMissing ? 'policy' : 'grant'} ${ids.join(', ')}`;
  const way = group === null ? '' : ` through ${group}`;
  const end = isMissing
    ? 'change it'
    : `revoke it${group === null ? '' : `, or take ${principal.name} out of ${group}`}`;
  const reason = ids.length > 0 ? ` by ${listed}${way}: ${end}` : isMissing ? ': no grant gives it' : '';
  return {
    principal,
    resource: { ...index.principals.namedNode(namedLevels(resource)), ...(column !== undefined && { column }) },
    privilege,
    grants: isMissing ? [] : ids,
    policies: isMissing ? ids : [],
    through,
    message: `${breachText(guarantee, place, principal.name, fact)}${reason}`,
  };
}

/** The witnesses of `apart`, in each first one what the same principal has besides. */
function paired(witnesses: readonly GuaranteeWitness[]): GuaranteeWitness[] {
  return witnesses.flatMap((first, i) => {
    const second = witnesses[i + 1];
    if (i % 2 === 1 || second === undefined) return [];
    const { resource, privilege } = second;
    const grants = [...new Set([...first.grants, ...second.grants])];
    return [{ ...first, second: { resource, privilege }, grants, message: `${first.message}; and ${second.message}` }];
  });
}
