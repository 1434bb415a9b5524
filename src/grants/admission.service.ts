import { Injectable } from '@nestjs/common';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import { inSpan } from '../platform/operations/tracing.js';
import { Settings } from '../platform/settings/settings.js';
import { AccessIndex } from '../trino-rules/answers/access-index.js';
import { brokenText, type GuaranteeVerdict } from '../trino-rules/answers/guarantee-verdicts.js';
import { explain } from '../trino-rules/answers/explanation.js';
import { expressionWarnings } from '../trino-rules/document/expression-warnings.js';
import { decide } from '../trino-rules/model/decision.js';
import { type Guarantee, isRefusing } from '../trino-rules/model/guarantee.js';
import { MaskConflicts } from '../trino-rules/model/mask-conflicts.js';
import { namedBy, type Node, nodeText } from '../trino-rules/model/node.js';
import { type PolicyPrincipal, principalText } from '../trino-rules/model/principal.js';
import { Principals } from '../trino-rules/model/principals.js';
import { holderProblem, orderedPrivileges, type Privilege, PRIVILEGE_TERMS } from '../trino-rules/model/privilege.js';
import { closedProblem, privilegesProblem } from '../trino-rules/model/resource.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PrincipalNames } from '../users/principal-names.store.js';
import {
  AdmissionProof,
  type AdmissionVerdict,
  EngineNames,
  type EngineNode,
  type Forecast,
  type Growth,
  SizeForecast,
} from './domain/admission-ports.js';
import type { NewGrant } from './domain/grant.js';
import { isBreaking, judgedPart, refuseBroken } from './domain/guarantee.js';
import type { NewPolicy, Policy, PolicyRule } from './domain/policy.js';
import { SnapshotStore, type Touched, touchedPart } from './domain/snapshot-store.js';
import { GroupStore } from './group.store.js';
import { GuaranteeStore } from './guarantee.store.js';

/** A principal or a node of a request body, with the path of its field there. */
interface NamedIn<T> {
  field: string;
  named: T;
}

/** A grant of a request body. `fieldPrefix`: the beginning of its fields' paths, such as `grant.0.`, or empty. */
export interface GrantRequest {
  fieldPrefix: string;
  grant: NewGrant;
}

type ActingRequest = Pick<GrantRequest, 'fieldPrefix'> & { grant: Pick<NewGrant, 'resource'> };

/** A write that touches more grants is proved by the publication run only, because reading them takes too long for a request. */
const PROVED_GRANTS = 20_000;

/**
 * Refuses a write that the next run would refuse, because a refused run leaves revoked access open: closed nodes, principals that
 * do not exist, conflicting masks, rules that are too large for the target, rules that cannot be proved.
 */
@Injectable()
export class AdmissionService {
  constructor(
    private readonly groups: GroupStore,
    private readonly names: PrincipalNames,
    private readonly snapshots: SnapshotStore,
    private readonly settings: Settings,
    private readonly size: SizeForecast,
    private readonly proof: AdmissionProof,
    private readonly engine: EngineNames,
    private readonly guarantees: GuaranteeStore,
  ) {}

  nodeErrors(nodes: readonly NamedIn<Node>[]): FieldError[] {
    return nodes.flatMap(({ field, named }) => {
      const problem = closedProblem(named, this.settings.acl.metadataCatalog);
      return problem === null ? [] : [{ field, message: problem }];
    });
  }

  /** Errors of single grants: closed nodes, privileges that the node or the principal cannot have, and an expiry in the past. */
  grantErrors(asked: readonly GrantRequest[], now: Date): FieldError[] {
    const { metadataCatalog } = this.settings.acl;
    return asked.flatMap(({ fieldPrefix, grant: { principal, resource, privileges, expiresAt } }) =>
      Object.entries({
        resource: closedProblem(resource, metadataCatalog),
        privileges: privilegesProblem(privileges, resource),
        principal: holderProblem(privileges, principal),
        expires_at: expiresAt !== null && expiresAt <= now ? 'must be in the future' : null,
      }).flatMap(([field, message]) => (message === null ? [] : [{ field: `${fieldPrefix}${field}`, message }])),
    );
  }

  /** Errors of grants to impersonate an engine principal that impersonates others itself. */
  actingErrors(asked: readonly ActingRequest[], actors: ReadonlySet<string>): FieldError[] {
    return asked.flatMap(({ fieldPrefix, grant: { resource } }): FieldError[] => {
      if (resource.as?.type !== 'engine' || !actors.has(resource.as.name)) return [];
      const message = 'holds IMPERSONATE itself, and the engine follows chains: nobody acts as it';
      return [{ field: `${fieldPrefix}resource.as.name`, message }];
    });
  }

  /**
   * Checks grants that the transaction has written.
   * @throws Refused `validation_failed` as `actingErrors`
   */
  async admitActing(asked: readonly GrantRequest[]): Promise<void> {
    const named = asked.filter(({ grant }) => grant.resource.as?.type === 'engine');
    if (named.length === 0) return;
    const nodes = named.map(({ grant }) => grant.resource);
    const snapshot = await this.snapshots.readTouched({ nodes, groups: [] }, Infinity);
    const errors = snapshot === null ? [] : this.actingErrors(named, new Principals(snapshot).actors);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
  }

  /** Errors of principals that do not exist, and of service accounts, whose rights only the settings decide. */
  principalErrors(
    principals: readonly NamedIn<PolicyPrincipal>[],
    exists: (named: PolicyPrincipal) => boolean,
  ): FieldError[] {
    return principals.flatMap(({ field, named }): FieldError[] => {
      if (!exists(named)) return [{ field: `${field}.id`, message: `there is no such ${named.type}` }];
      const isService = named.type === 'engine' && this.settings.acl.serviceAccounts.includes(named.name);
      if (!isService) return [];
      return [{ field: `${field}.name`, message: 'is a service account, whose rights follow from the settings alone' }];
    });
  }

  /**
   * Checks that the principals exist, locks them until the transaction ends, and claims the names of engine principals.
   * @throws Refused `validation_failed` with all invalid principals; `name_taken` for a name that an account has
   */
  async admitPrincipals(principals: readonly NamedIn<PolicyPrincipal>[]): Promise<void> {
    const all = principals.map(({ named }) => named);
    const missing = new Set((await this.groups.findMissing(all)).map(principalText));
    const errors = this.principalErrors(principals, (named) => !missing.has(principalText(named)));
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const [held] = await this.names.claimForEngine(engineNames(all));
    if (held !== undefined) throw new Refused('name_taken', { detail: holderText(held) });
  }

  /** Why `admitPrincipals` would refuse the names of engine principals; null: it would not. */
  async takenName(principals: readonly PolicyPrincipal[]): Promise<string | null> {
    const [held] = await this.names.findTakenForEngine(engineNames(principals));
    return held === undefined ? null : holderText(held);
  }

  /**
   * @param former the policy before, where the transaction has replaced it
   * @throws Refused `mask_conflict` when the policy, as the transaction has written it, has a conflict that `former` did not have
   */
  async admitMask(policyId: number, former: Policy | null): Promise<void> {
    const conflict = new MaskConflicts(await this.snapshots.read()).conflictOf(
      policyId,
      former && { ...former, ...former.rule },
    );
    if (conflict === null) return;
    throw new Refused('mask_conflict', {
      detail: `Policy ${conflict.with} masks the same column at the same distance for ${conflict.principal}.`,
      members: { policy_id: conflict.with },
    });
  }

  /**
   * Checks that the state that the transaction leaves fits the target, can be proved, and breaks no enforced guarantee. Not called for
   * writes that only take access away: they must stay possible, to resolve a refusal.
   * @returns warnings where little capacity is left, and about guarantees that refuse nothing
   * @throws Refused `rules_too_large`, `rules_unprovable`, `guarantee_broken`
   */
  async admitRules(touched: Touched): Promise<string[]> {
    const forecast = await this.size.forecast(
      () => this.snapshots.read(),
      (since) => this.snapshots.growth(since),
    );
    if (forecast?.fits === false) throw new Refused('rules_too_large', { detail: forecast.message });
    const warnings = await this.proveChange(touched, true);
    return [...(forecast === null ? [] : [forecast.message]), ...warnings];
  }

  /**
   * The part of `admitRules` about guarantees, for writes that take restrictions or exceptions away.
   * @throws Refused `busy`, `guarantee_broken`
   */
  admitGuarantees(touched: Touched): Promise<string[]> {
    return this.proveChange(touched, false);
  }

  private async proveChange(touched: Touched, isForRules: boolean): Promise<string[]> {
    const guarantees = await this.guarantees.lockNear(touched);
    const judged = judgedPart(guarantees, this.settings.acl);
    const wide = isForRules ? { ...touched, ...judged, nodes: [...touched.nodes, ...judged.nodes] } : judged;
    const whole = guarantees.length === 0 ? null : await this.snapshots.readTouched(wide, PROVED_GRANTS);
    const next = whole && { ...whole, guarantees };
    const verdict = next && (await this.judge(next, null));
    const verdicts = verdict?.verdicts ?? [];
    // A part that is too large for guarantees to be judged here does not keep the rules from being proved.
    const isUnproved = isForRules && (verdict?.refusal ?? null) === null && verdicts.length === 0;
    const narrow = isUnproved ? await this.snapshots.readTouched(touched, PROVED_GRANTS) : null;
    const { refusal = null } = (narrow ? await this.judge(narrow, null) : verdict) ?? {};
    if (isForRules && refusal !== null) throw new Refused('rules_unprovable', { detail: refusal });
    const broken = verdicts.filter(isBreaking);
    const former = broken.length === 0 ? null : await this.snapshots.readCommitted(wide, PROVED_GRANTS);
    const compared = next && former && (await this.judge(next, { ...former, guarantees })).verdicts;
    // No verdicts: the comparison was left to the run, and the write is refused rather than admitted.
    refuseBroken(compared?.length ? compared : broken);
    if (next !== null) await this.guarantees.record(verdicts, next.at);
    return verdicts.filter((verdict) => verdict.isBroken && !isRefusing(verdict)).map(brokenText);
  }

  /**
   * Checks guarantees that the transaction has written: what is broken already breaks them, too.
   * @throws Refused `guarantee_broken`, `rules_unprovable`
   */
  async admitWritten(guarantees: readonly Guarantee[], by: AuditContext): Promise<void> {
    const { verdicts, at } = await this.judgeNow(guarantees);
    refuseBroken(verdicts);
    await this.guarantees.record(verdicts, at, by);
  }

  /**
   * Judges guarantees on what is recorded, or the transaction has written, however long it takes.
   * @throws Refused `rules_unprovable` where they cannot be judged
   */
  async judgeNow(guarantees: readonly Guarantee[]): Promise<{ verdicts: GuaranteeVerdict[]; at: Date }> {
    const snapshot = await this.snapshots.read();
    if (guarantees.length === 0) return { verdicts: [], at: snapshot.at };
    const { nodes, named } = judgedPart(guarantees, snapshot.settings);
    const part = { ...touchedPart(snapshot, nodes, named), guarantees };
    const { refusal, verdicts } = await this.proof.judgeGuarantees(part);
    if (verdicts.length === guarantees.length) return { verdicts, at: snapshot.at };
    throw new Refused('rules_unprovable', {
      detail: `Guarantees cannot be judged: ${refusal ?? 'no proof was made'}.`,
    });
  }

  private judge(snapshot: Snapshot, former: Snapshot | null): Promise<AdmissionVerdict> {
    return inSpan('rules proof', () => this.proof.judge(snapshot, former));
  }

  /**
   * The verdict of `admitRules` on a state that is not written.
   * @param touched the part of `whole` that the write would touch, with guarantees
   * @param former the same part before; null: there are no guarantees
   */
  async forecast(
    whole: Snapshot,
    touched: Snapshot,
    growth: Growth,
    former: Snapshot | null,
  ): Promise<{ size: Forecast | null; unprovable: string | null; verdicts: GuaranteeVerdict[] }> {
    const size = await this.size.forecast(
      () => Promise.resolve(whole),
      async (since) => {
        const written = await this.snapshots.growth(since);
        return { bytes: written.bytes + growth.bytes, isWide: written.isWide || growth.isWide };
      },
    );
    if (touched.grants.length > PROVED_GRANTS) return { size, unprovable: null, verdicts: [] };
    const { refusal: unprovable, verdicts } = await this.judge(touched, former);
    return { size, unprovable, verdicts };
  }

  /** Warnings on each written grant whose privileges a restriction removes. Not errors, because the policy may be deleted later. */
  async effectWarnings(grants: readonly NewGrant[]): Promise<string[][]> {
    const nodes = grants.filter(({ privileges }) => privileges.some(canYield)).map(({ resource }) => resource);
    const snapshot = nodes.length === 0 ? null : await this.snapshots.readTouched({ nodes, groups: [] }, PROVED_GRANTS);
    return grants.map((grant) => (snapshot === null ? [] : privilegesWithoutEffect(snapshot, grant)));
  }

  /** Warnings on the parts of each node that the engine does not know. Not errors, because they may be created later. */
  async nameWarnings(nodes: readonly EngineNode[]): Promise<string[][]> {
    const unknown = await this.engine.unknownParts(nodes);
    return nodes.map((_, i) => [unknown[i] ?? []].flat());
  }

  /** Warnings on a policy's expression, and on unknown parts of its node or, if there are none, the engine's error for the expression. */
  async policyWarnings(rule: PolicyRule): Promise<string[]> {
    const [unknown = []] = await this.nameWarnings([rule.resource]);
    if (rule.kind !== 'row_filter' && rule.kind !== 'column_mask') return unknown;
    const warnings = [...expressionWarnings(rule), ...unknown];
    const error =
      unknown.length > 0 ? null : await this.engine.expressionError(rule.kind, rule.resource, rule.expression);
    return error === null ? warnings : [...warnings, error];
  }
}

/** The principal that an IMPERSONATE or query node names, with the path of its field. */
export function namedIn(fieldPrefix: string, node: Node): NamedIn<PolicyPrincipal>[] {
  const named = namedBy(node);
  return named === undefined ? [] : [{ field: `${fieldPrefix}resource.${node.as ? 'as' : 'queries'}`, named }];
}

export function namesOfGrant({ fieldPrefix, grant }: GrantRequest): NamedIn<PolicyPrincipal>[] {
  return [{ field: `${fieldPrefix}principal`, named: grant.principal }, ...namedIn(fieldPrefix, grant.resource)];
}

export function namesOfPolicy(fieldPrefix: string, { principal, except, rule }: NewPolicy): NamedIn<PolicyPrincipal>[] {
  return [
    { field: `${fieldPrefix}principal`, named: principal },
    ...namedIn(fieldPrefix, rule.resource),
    ...except.map((named, i) => ({ field: `${fieldPrefix}except.${i}`, named })),
  ];
}

function engineNames(principals: readonly PolicyPrincipal[]): string[] {
  return [...new Set(principals.flatMap((named) => (named.type === 'engine' ? [named.name] : [])))];
}

function holderText({ name, holder }: { name: string; holder: 'account' | 'engine' }): string {
  return `The name ${name} belongs to ${holder === 'account' ? 'an account' : 'an engine principal in another spelling'}.`;
}

/** Whether a restriction can take a privilege without denying it. */
function canYield(privilege: Privilege): boolean {
  const { yieldsToRestrictions, yieldsToFilters, yieldsToMasks } = PRIVILEGE_TERMS[privilege];
  return yieldsToRestrictions || yieldsToFilters || yieldsToMasks;
}

/**
 * Sentences on privileges of a grant that have no effect, because a row filter, a mask, a hidden column or a deny removes them from
 * the principal at that node. None for a grant to everyone, because restrictions remove it from some users only.
 * @param snapshot with the grant in it
 */
function privilegesWithoutEffect(snapshot: Snapshot, { principal, resource, privileges }: NewGrant): string[] {
  const index = new AccessIndex(snapshot);
  if (principal.type === 'everyone') return [];
  const lost = new Map<string, Privilege[]>();
  for (const privilege of privileges.filter(canYield)) {
    const question = PRIVILEGE_TERMS[privilege].asks(index.principals.namedNode(resource));
    if (decide(snapshot, principal, question, index.principals).allowed) continue;
    const policies = explain(index, principal, question).policies.map(({ id }) => id);
    if (policies.length === 0) continue;
    const by = `${policies.length > 1 ? 'policies' : 'policy'} ${policies.join(', ')}`;
    lost.set(by, [...(lost.get(by) ?? []), privilege]);
  }
  return [...lost].map(
    ([by, some]) =>
      `${orderedPrivileges(some).join(', ')} on ${nodeText(resource) || 'everything'} has no effect: ${by} would not hold for it`,
  );
}
