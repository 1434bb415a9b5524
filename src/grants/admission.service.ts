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
import { type Guarantee, canRefuse, judgedNodes } from '../trino-rules/model/guarantee.js';
import { MaskConflicts } from '../trino-rules/model/mask-conflicts.js';
import { principalIn, type Node, nodeText } from '../trino-rules/model/node.js';
import { type PolicyPrincipal, principalText } from '../trino-rules/model/principal.js';
import { Principals } from '../trino-rules/model/principals.js';
import {
  holderProblem,
  isRoutinePrivilege,
  orderedPrivileges,
  type Privilege,
  PRIVILEGE_TERMS,
} from '../trino-rules/model/privilege.js';
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
import { refusesWrite, judgementInput, refuseBrokenGuarantees } from './domain/guarantee.js';
import type { NewPolicy, Policy, PolicyRule } from './domain/policy.js';
import { SnapshotStore, type TouchedScope, touchedPart } from './domain/snapshot-store.js';
import { GroupStore } from './group.store.js';
import { GuaranteeStore } from './guarantee.store.js';

/** A value in a request body, such as a principal, with the path of its field. */
interface FieldValue<T> {
  field: string;
  value: T;
}

/** A grant in a request body. The paths of its fields begin with `fieldPrefix`, such as `grant.0.` or an empty text. */
export interface GrantRequest {
  fieldPrefix: string;
  grant: NewGrant;
}

type ImpersonationRequest = Pick<GrantRequest, 'fieldPrefix'> & { grant: Pick<NewGrant, 'resource'> };

/** The most grants that a request reads for a proof. If a write affects more grants, only the next publication run proves the rules. */
const PROOF_LIMIT = 20_000;

/**
 * Refuses writes that the next publication run would refuse, because revoked access stays in effect while runs are refused. Causes are a node
 * on which nothing can be granted, an unknown principal, conflicting masks, and rules that are too large for the target or cannot be proved.
 */
@Injectable()
export class AdmissionService {
  constructor(
    private readonly groups: GroupStore,
    private readonly names: PrincipalNames,
    private readonly snapshots: SnapshotStore,
    private readonly settings: Settings,
    private readonly sizeForecast: SizeForecast,
    private readonly admissionProof: AdmissionProof,
    private readonly engine: EngineNames,
    private readonly guaranteeStore: GuaranteeStore,
  ) {}

  nodeErrors(nodes: readonly FieldValue<Node>[]): FieldError[] {
    return nodes.flatMap(({ field, value }) => {
      const problem = closedProblem(value, this.settings.acl.metadataCatalog);
      return problem === null ? [] : [{ field, message: problem }];
    });
  }

  /** Errors of single grants: a node on which nothing can be granted, a privilege that the node or principal cannot have, a past expiry. */
  grantErrors(requests: readonly GrantRequest[], now: Date): FieldError[] {
    const { metadataCatalog } = this.settings.acl;
    return requests.flatMap(({ fieldPrefix, grant: { principal, resource, privileges, expiresAt } }) =>
      Object.entries({
        resource: closedProblem(resource, metadataCatalog),
        privileges: privilegesProblem(privileges, resource),
        principal: holderProblem(privileges, principal),
        expires_at: expiresAt !== null && expiresAt <= now ? 'must be in the future' : null,
      }).flatMap(([field, message]) => (message === null ? [] : [{ field: `${fieldPrefix}${field}`, message }])),
    );
  }

  /** Errors of grants to impersonate an engine principal that itself impersonates others. */
  impersonationErrors(requests: readonly ImpersonationRequest[], actors: ReadonlySet<string>): FieldError[] {
    return requests.flatMap(({ fieldPrefix, grant: { resource } }): FieldError[] => {
      if (resource.as?.type !== 'engine' || !actors.has(resource.as.name)) return [];
      const message = 'holds IMPERSONATE itself, and the engine follows chains: nobody acts as it';
      return [{ field: `${fieldPrefix}resource.as.name`, message }];
    });
  }

  /** Checks grants that the transaction has written. @throws Refused `validation_failed` with the errors of `impersonationErrors` */
  async admitImpersonation(requests: readonly GrantRequest[]): Promise<void> {
    const engineRequests = requests.filter(({ grant }) => grant.resource.as?.type === 'engine');
    if (engineRequests.length === 0) return;
    const nodes = engineRequests.map(({ grant }) => grant.resource);
    const snapshot = await this.snapshots.readTouched({ nodes, groups: [] }, Infinity);
    const errors =
      snapshot === null ? [] : this.impersonationErrors(engineRequests, new Principals(snapshot).impersonators);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
  }

  /** Errors for principals that do not exist, and for service accounts, because only the settings decide the rights of service accounts. */
  principalErrors(
    principals: readonly FieldValue<PolicyPrincipal>[],
    principalExists: (principal: PolicyPrincipal) => boolean,
  ): FieldError[] {
    return principals.flatMap(({ field, value }): FieldError[] => {
      if (!principalExists(value)) return [{ field: `${field}.id`, message: `there is no such ${value.type}` }];
      const isServiceAccount = value.type === 'engine' && this.settings.acl.serviceAccounts.includes(value.name);
      if (!isServiceAccount) return [];
      return [{ field: `${field}.name`, message: 'is a service account, whose rights follow from the settings alone' }];
    });
  }

  /**
   * Checks that the principals exist, locks them until the transaction ends, and reserves the names of engine principals.
   * @throws Refused `validation_failed` with all invalid principals; `name_taken` for a name that an account has
   */
  async admitPrincipals(principals: readonly FieldValue<PolicyPrincipal>[]): Promise<void> {
    const allPrincipals = principals.map(({ value }) => value);
    const missingKeys = new Set((await this.groups.findMissing(allPrincipals)).map(principalText));
    const errors = this.principalErrors(principals, (principal) => !missingKeys.has(principalText(principal)));
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const [takenName] = await this.names.claimEngineNames(engineNames(allPrincipals));
    if (takenName !== undefined) throw new Refused('name_taken', { detail: holderText(takenName) });
  }

  async takenNameProblem(principals: readonly PolicyPrincipal[]): Promise<string | null> {
    const [takenName] = await this.names.findTakenEngineNames(engineNames(principals));
    return takenName === undefined ? null : holderText(takenName);
  }

  /**
   * Checks a policy that the transaction has written. @param formerPolicy the policy that it replaced; null: it is new
   * @throws Refused `mask_conflict` if the written policy has a conflict that `formerPolicy` did not have
   */
  async admitMask(policyId: number, formerPolicy: Policy | null): Promise<void> {
    const conflict = new MaskConflicts(await this.snapshots.read()).conflictOf(
      policyId,
      formerPolicy && { ...formerPolicy, ...formerPolicy.rule },
    );
    if (conflict === null) return;
    throw new Refused('mask_conflict', {
      detail: `Policy ${conflict.otherPolicyId} masks the same column at the same distance for ${conflict.principal}.`,
      members: { policy_id: conflict.otherPolicyId },
    });
  }

  /**
   * Checks that the rules after the transaction fit the target, can be proved, and break no enforced guarantee. Not called for writes
   * that only take access away, because these must stay possible when publication is refused.
   * @returns warnings that the target has little space left, and about broken guarantees that are not enforced
   * @throws Refused `rules_too_large`, `rules_unprovable`, `guarantee_broken`
   */
  async admitRules(touchedScope: TouchedScope): Promise<string[]> {
    const forecast = await this.sizeForecast.forecast(
      () => this.snapshots.read(),
      (since) => this.snapshots.growthSince(since),
    );
    if (forecast?.fits === false) throw new Refused('rules_too_large', { detail: forecast.message });
    const snapshot = await this.snapshots.readTouched(touchedScope, PROOF_LIMIT);
    const { refusal = null } = (snapshot && (await this.judge(snapshot, null))) ?? {};
    if (refusal !== null) throw new Refused('rules_unprovable', { detail: refusal });
    return [...(forecast === null ? [] : [forecast.message]), ...(await this.admitGuarantees(touchedScope))];
  }

  /**
   * Checks guarantees alone, as the last step of `admitRules` does. Enough for a write such as the removal of a policy or of a group member.
   * @throws Refused `busy`, `guarantee_broken`
   */
  async admitGuarantees(touchedScope: TouchedScope): Promise<string[]> {
    const guarantees = await this.guaranteeStore.lockTouched(touchedScope);
    const input = judgementInput(guarantees, this.settings.acl);
    const snapshot = guarantees.length === 0 ? null : await this.snapshots.readTouched(input, PROOF_LIMIT);
    if (snapshot === null) return [];
    const judgedSnapshot = { ...snapshot, guarantees };
    const { verdicts } = await this.judge(judgedSnapshot, null);
    const breaches = verdicts.filter(refusesWrite);
    const formerSnapshot = breaches.length === 0 ? null : await this.snapshots.readCommitted(input, PROOF_LIMIT);
    const newVerdicts =
      formerSnapshot && (await this.judge(judgedSnapshot, { ...formerSnapshot, guarantees })).verdicts;
    // `newVerdicts` is null if the former state is too large, and empty if judging took too long. All breaches then count as new.
    refuseBrokenGuarantees(newVerdicts?.length ? newVerdicts : breaches);
    await this.guaranteeStore.record(verdicts, judgedSnapshot.at);
    return verdicts.filter((verdict) => verdict.isBroken && !canRefuse(verdict)).map(brokenText);
  }

  /**
   * Checks guarantees that the transaction has written. A guarantee is refused even if grants from before the transaction break it.
   * @throws Refused `guarantee_broken`, `rules_unprovable`
   */
  async admitWrittenGuarantees(guarantees: readonly Guarantee[], context: AuditContext): Promise<void> {
    const { verdicts, judgedAt } = await this.judgeNow(guarantees);
    refuseBrokenGuarantees(verdicts);
    await this.guaranteeStore.record(verdicts, judgedAt, context);
  }

  /**
   * Judges guarantees on the state of the database, including the running transaction's writes. Has no time limit.
   * @throws Refused `rules_unprovable` if they cannot be judged
   */
  async judgeNow(guarantees: readonly Guarantee[]): Promise<{ verdicts: GuaranteeVerdict[]; judgedAt: Date }> {
    const snapshot = await this.snapshots.read();
    if (guarantees.length === 0) return { verdicts: [], judgedAt: snapshot.at };
    const { nodes, principals: principal } = judgementInput(guarantees, snapshot.settings);
    const judgedPart = { ...touchedPart(snapshot, nodes, principal), guarantees };
    const { refusal, verdicts } = await this.admissionProof.judgeGuarantees(judgedPart);
    if (verdicts.length === guarantees.length) return { verdicts, judgedAt: snapshot.at };
    throw new Refused('rules_unprovable', {
      detail: `Guarantees cannot be judged: ${refusal ?? 'no proof was made'}.`,
    });
  }

  private judge(snapshot: Snapshot, formerSnapshot: Snapshot | null): Promise<AdmissionVerdict> {
    return inSpan('rules proof', () => this.admissionProof.judge(snapshot, formerSnapshot));
  }

  /**
   * Checks an unsaved draft in the same way as `admitRules` checks saved changes.
   * @param writtenPart the part of `fullSnapshot` that the draft can affect, including the draft
   * @param formerSnapshot the same part without the draft; null: the draft affects no guarantee
   */
  async forecast(
    fullSnapshot: Snapshot,
    writtenPart: Snapshot,
    growth: Growth,
    formerSnapshot: Snapshot | null,
  ): Promise<{ size: Forecast | null; unprovableReason: string | null; verdicts: GuaranteeVerdict[] }> {
    const size = await this.sizeForecast.forecast(
      () => Promise.resolve(fullSnapshot),
      async (start) => {
        const recordedGrowth = await this.snapshots.growthSince(start);
        return { bytes: recordedGrowth.bytes + growth.bytes, isWide: recordedGrowth.isWide || growth.isWide };
      },
    );
    if (writtenPart.grants.length > PROOF_LIMIT) return { size, unprovableReason: null, verdicts: [] };
    const { refusal: unprovableReason, verdicts } = await this.judge(writtenPart, formerSnapshot);
    return { size, unprovableReason, verdicts };
  }

  /** Warnings on each written grant with privileges that a policy takes away. They are no errors, because the policy may be deleted later. */
  async effectWarnings(grants: readonly NewGrant[]): Promise<string[][]> {
    const takeableGrants = grants.filter(({ privileges }) => privileges.some(canBeTaken));
    const nodes = takeableGrants.flatMap((grant) => judgedNodes(grant, this.settings.acl));
    const snapshot = nodes.length === 0 ? null : await this.snapshots.readTouched({ nodes, groups: [] }, PROOF_LIMIT);
    return grants.map((grant) => (snapshot === null ? [] : privilegesWithoutEffect(snapshot, grant)));
  }

  /** Warnings on names in each node that the engine does not know. They are no errors, because such a catalog, schema or table may be created later. */
  async nameWarnings(nodes: readonly EngineNode[]): Promise<string[][]> {
    const unknownParts = await this.engine.unknownParts(nodes);
    return nodes.map((_, i) => [unknownParts[i] ?? []].flat());
  }

  /** Warnings on a policy's expression, and on unknown names in its node. The engine checks the expression only if it knows all names. */
  async policyWarnings(rule: PolicyRule): Promise<string[]> {
    const [nameWarnings = []] = await this.nameWarnings([rule.resource]);
    if (rule.kind !== 'row_filter' && rule.kind !== 'column_mask') return nameWarnings;
    const warnings = [...expressionWarnings(rule), ...nameWarnings];
    const error =
      nameWarnings.length > 0 ? null : await this.engine.expressionError(rule.kind, rule.resource, rule.expression);
    return error === null ? warnings : [...warnings, error];
  }
}

export function nodePrincipals(fieldPrefix: string, node: Node): FieldValue<PolicyPrincipal>[] {
  const value = principalIn(node);
  return value === undefined ? [] : [{ field: `${fieldPrefix}resource.${node.as ? 'as' : 'queries'}`, value }];
}

export function principalsOfGrant({ fieldPrefix, grant }: GrantRequest): FieldValue<PolicyPrincipal>[] {
  return [{ field: `${fieldPrefix}principal`, value: grant.principal }, ...nodePrincipals(fieldPrefix, grant.resource)];
}

export function principalsOfPolicy(fieldPrefix: string, policy: NewPolicy): FieldValue<PolicyPrincipal>[] {
  const { principal, except, rule } = policy;
  return [
    { field: `${fieldPrefix}principal`, value: principal },
    ...nodePrincipals(fieldPrefix, rule.resource),
    ...except.map((value, i) => ({ field: `${fieldPrefix}except.${i}`, value })),
  ];
}

function engineNames(principals: readonly PolicyPrincipal[]): string[] {
  return [...new Set(principals.flatMap((principal) => (principal.type === 'engine' ? [principal.name] : [])))];
}

function holderText({ name, holder }: { name: string; holder: 'account' | 'engine' }): string {
  return `The name ${name} belongs to ${holder === 'account' ? 'an account' : 'an engine principal in another spelling, which is in use'}.`;
}

/** Whether a policy can take a privilege away from the holder of a grant. */
function canBeTaken(privilege: Privilege): boolean {
  const { yieldsToRestrictions, yieldsToFilters, yieldsToMasks } = PRIVILEGE_TERMS[privilege];
  return yieldsToRestrictions || yieldsToFilters || yieldsToMasks || isRoutinePrivilege(privilege);
}

/**
 * Sentences on the privileges of a grant that policies take away from the principal at the node. None for a grant to everyone, because
 * policies take its privileges away from some users only.
 * @param snapshot must contain the grant
 */
function privilegesWithoutEffect(snapshot: Snapshot, { principal, resource, privileges }: NewGrant): string[] {
  const index = new AccessIndex(snapshot);
  if (principal.type === 'everyone') return [];
  const privilegesByText = new Map<string, Privilege[]>();
  for (const privilege of privileges.filter(canBeTaken)) {
    const question = PRIVILEGE_TERMS[privilege].questionAt(index.principals.nodeWithName(resource));
    if (decide(snapshot, principal, question, index.principals).allowed) continue;
    const policies = explain(index, principal, question).policies.map(({ id }) => id);
    if (policies.length === 0) continue;
    const policiesText = `${policies.length > 1 ? 'policies' : 'policy'} ${policies.join(', ')}`;
    privilegesByText.set(policiesText, [...(privilegesByText.get(policiesText) ?? []), privilege]);
  }
  return [...privilegesByText].map(
    ([policiesText, lostPrivileges]) =>
      `${orderedPrivileges(lostPrivileges).join(', ')} on ${nodeText(resource) || 'everything'} has no effect: ${policiesText} would not hold for it`,
  );
}
