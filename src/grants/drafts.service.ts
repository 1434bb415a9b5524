import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import {
  type AccessDifference,
  accessDifferences,
  type AccessOutcome,
  grantsOfDraft,
} from '../trino-rules/answers/access-difference.js';
import {
  brokenText,
  type GuaranteeVerdict,
  type GuaranteeVerdictForm,
} from '../trino-rules/answers/guarantee-verdicts.js';
import { expressionWarnings } from '../trino-rules/document/expression-warnings.js';
import { compareNames, compareNodes, kindOf, type NamedNode, type Node } from '../trino-rules/model/node.js';
import { affectedNodes, withDraft } from '../trino-rules/answers/draft.js';
import type { NamedPrincipal, PolicyPrincipal } from '../trino-rules/model/principal.js';
import { Principals, type AppliesThrough } from '../trino-rules/model/principals.js';
import { type Snapshot, principalsOf } from '../trino-rules/model/snapshot.js';
import { AdmissionService, type GrantRequest, principalsOfGrant, principalsOfPolicy } from './admission.service.js';
import type { Forecast } from './domain/admission-ports.js';
import { refusesWrite, isAffected, judgementInput } from './domain/guarantee.js';
import {
  type DraftCheck,
  type DraftRequest,
  growthOf,
  knownCatalogs,
  maskChecks,
  draftOfRequest,
  rowErrors,
} from './domain/draft-request.js';
import { SnapshotStore, touchedPart } from './domain/snapshot-store.js';
import { timeSliced } from './access.service.js';
import { GuaranteeStore } from './guarantee.store.js';

export interface DraftPreview {
  /** A page, ordered by principal and node. If there is a next page, this list and `unchanged` together have one entry more than the limit. */
  differences: (AccessDifference & { resource: NamedNode })[];
  /** Principals to whom the draft gives only access that they have already, ordered by name. */
  unchanged: { principal: NamedPrincipal; through: AppliesThrough }[];
  peopleGaining: number;
  peopleLosing: number;
  peopleUnchanged: number;
  /** The known data catalogs, if the draft changes a grant or policy on everything; otherwise empty. */
  catalogs: readonly string[];
  checks: DraftCheck[];
  warnings: string[];
  /** Guarantees that the draft breaks, and broken guarantees that it mends. */
  guarantees: GuaranteeVerdictForm[];
  /** Forecast of the rules' size; null: there is enough capacity. */
  size: Forecast | null;
}

interface DraftPage {
  after: { principal: string; resource: Node } | null;
  limit: number;
}

/** The most previews that a replica computes at a time, because a draft for everyone on a whole catalog takes seconds of a core. */
const PREVIEW_LIMIT = { name: 'drafts', limit: 4 };
const RETRY_AFTER_SECONDS = 1;

/** Previews the access that changes of grants, policies and members would give and take away. Writes nothing. */
@Injectable()
export class DraftsService {
  private previewsInProgress = 0;

  constructor(
    private readonly snapshots: SnapshotStore,
    private readonly admission: AdmissionService,
    private readonly clock: Clock,
    private readonly guarantees: GuaranteeStore,
  ) {}

  /** @throws Refused `validation_failed` with all errors, `too_many_requests` */
  async preview(request: DraftRequest, page: DraftPage): Promise<DraftPreview> {
    if (this.previewsInProgress >= PREVIEW_LIMIT.limit) {
      throw new Refused('too_many_requests', { quota: PREVIEW_LIMIT, retryAfter: RETRY_AFTER_SECONDS });
    }
    this.previewsInProgress += 1;
    try {
      return await this.computePreview(request, page);
    } finally {
      this.previewsInProgress -= 1;
    }
  }

  private async computePreview(request: DraftRequest, page: DraftPage): Promise<DraftPreview> {
    const snapshot = await this.snapshots.read();
    const errors = this.requestErrors(snapshot, request);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const draft = draftOfRequest(request);
    const draftSnapshot = withDraft(snapshot, draft);
    const { impersonators } = new Principals(draftSnapshot);
    const impersonationErrors = this.admission.impersonationErrors(grantRequests(request), impersonators);
    if (impersonationErrors.length > 0) throw new Refused('validation_failed', { errors: impersonationErrors });
    const affectedEntries = affectedNodes(snapshot, draft);
    const nodes = affectedEntries.flatMap((each) => each.nodes);
    // A write that only takes access away is never refused for the size of the rules, so the size is checked only if the draft adds something.
    const isAdding = draft.grants.length + draft.policies.length + draft.addedMembers.length > 0;
    const groups = [...draft.addedMembers, ...draft.removedMembers].map(({ group }) => group);
    const writtenPrincipals = [...draft.grants, ...draft.policies].flatMap(principalsOf);
    const principalsInDraft = [...writtenPrincipals, ...draft.addedMembers.map(({ member }) => member)];
    const joiningPrincipals = [
      ...draft.grants.map(({ principal }) => principal),
      ...draft.addedMembers.map(({ member }) => member),
    ];
    const touchedByDraft = { nodes, groups, mayJoinEveryone: joiningPrincipals.some(({ type }) => type === 'engine') };
    const { settings, guarantees: allGuarantees = [] } = snapshot;
    const guarantees = allGuarantees.filter((each) => isAffected(each, touchedByDraft, settings));
    const judgedScope = judgementInput(guarantees, settings);
    const judgedPartOf = ({ guarantees: _, ...state }: Snapshot): Snapshot => ({
      ...touchedPart(state, [...nodes, ...judgedScope.nodes], judgedScope.principals),
      ...(guarantees.length > 0 && { guarantees }),
    });
    const formerSnapshot = guarantees.length > 0 ? judgedPartOf(snapshot) : null;
    const forecast =
      isAdding || formerSnapshot !== null
        ? this.admission.forecast(draftSnapshot, judgedPartOf(draftSnapshot), growthOf(snapshot, draft), formerSnapshot)
        : { size: null, unprovableReason: null, verdicts: [] };
    // The differences are counted meanwhile, because the forecast mostly waits for another process.
    const [{ size, unprovableReason, verdicts }, counts] = await Promise.all([
      forecast,
      countOutcomes(accessDifferences(snapshot, draftSnapshot, affectedEntries, grantsOfDraft(snapshot, draft)), page),
    ]);
    const conflicts: DraftCheck[] = [];
    for await (const check of timeSliced(maskChecks(snapshot, draftSnapshot, draft.policies)))
      if (check !== null) conflicts.push(check);
    const takenName = await this.admission.takenNameProblem(principalsInDraft);
    const sizeChecks = isAdding ? forecastChecks(size, unprovableReason) : [];
    const nameChecks: DraftCheck[] = takenName === null ? [] : [{ code: 'name_taken', message: takenName }];
    const principals = new Principals(snapshot);
    const withNames = (node: Node) => principals.nodeWithName(node);
    const differences = counts.differences.map((each) => ({ ...each, resource: withNames(each.resource) }));
    const catalogs = nodes.some((node) => kindOf(node) === 'everything') ? knownCatalogs(draftSnapshot) : [];
    return {
      ...counts,
      differences,
      catalogs,
      size: isAdding ? size : null,
      checks: [...nameChecks, ...conflicts, ...sizeChecks, ...brokenChecks(verdicts)],
      guarantees: await this.guarantees.changedVerdicts(verdicts),
      warnings: [...new Set(draft.policies.flatMap(expressionWarnings))],
    };
  }

  private requestErrors(snapshot: Snapshot, request: DraftRequest): FieldError[] {
    const { policies, addedMembers } = request;
    const recordedPrincipals = new Principals(snapshot);
    // Every engine principal counts as existing, because granting creates it. `principalErrors` refuses service accounts.
    const exists = (principal: PolicyPrincipal): boolean =>
      principal.type === 'engine' || recordedPrincipals.exists(principal);
    const principals = [
      ...grantRequests(request).flatMap(principalsOfGrant),
      ...policies.flatMap(({ policy }, i) => principalsOfPolicy(`policies.put.${i}.`, policy)),
    ];
    const joiningPrincipals = addedMembers.flatMap(({ member }, i) =>
      member.type === 'engine' ? [{ field: `members.add.${i}`, value: member }] : [],
    );
    return [
      ...this.admission.grantErrors(grantRequests(request), this.clock.now()),
      ...this.admission.nodeErrors(
        policies.map(({ policy }, i) => ({ field: `policies.put.${i}.resource`, value: policy.rule.resource })),
      ),
      ...this.admission.principalErrors([...principals, ...joiningPrincipals], exists),
      ...rowErrors(snapshot, request),
    ];
  }
}

function grantRequests({ grants }: DraftRequest): GrantRequest[] {
  return grants.map((grant, i) => ({ fieldPrefix: `grant.${i}.`, grant }));
}

function forecastChecks(size: Forecast | null, unprovableReason: string | null): DraftCheck[] {
  return [
    ...(size?.fits === false ? [{ code: 'rules_too_large' as const, message: size.message }] : []),
    ...(unprovableReason === null ? [] : [{ code: 'rules_unprovable' as const, message: unprovableReason }]),
  ];
}

function brokenChecks(verdicts: readonly GuaranteeVerdict[]): DraftCheck[] {
  return verdicts.filter(refusesWrite).map((verdict) => ({ code: 'guarantee_broken', message: brokenText(verdict) }));
}

type Summary = Omit<DraftPreview, 'differences' | 'catalogs' | 'checks' | 'warnings' | 'guarantees' | 'size'> & {
  differences: AccessDifference[];
};

/** Counts the principals who gain, lose or already have access. Collects one page of their differences and of unchanged principals. */
async function countOutcomes(outcomes: Iterable<AccessOutcome | null>, { after, limit }: DraftPage): Promise<Summary> {
  const summary: Summary = { differences: [], unchanged: [], peopleGaining: 0, peopleLosing: 0, peopleUnchanged: 0 };
  for await (const outcome of timeSliced(outcomes)) {
    if (outcome === null) continue;
    const { principal, differences, alreadyHeldThrough } = outcome;
    if (differences.some(({ gained }) => gained !== null)) summary.peopleGaining += 1;
    if (differences.some(({ lost }) => lost !== null)) summary.peopleLosing += 1;
    const remainingCount = limit + 1 - summary.differences.length - summary.unchanged.length;
    const isAfterCursor = ({ resource }: AccessDifference) =>
      after === null || (compareNames(principal.name, after.principal) || compareNodes(resource, after.resource)) > 0;
    const followingDifferences = differences.filter(isAfterCursor);
    summary.differences.push(...followingDifferences.slice(0, remainingCount));
    if (alreadyHeldThrough === null) continue;
    summary.peopleUnchanged += 1;
    if (remainingCount > 0 && (after === null || compareNames(principal.name, after.principal) > 0))
      summary.unchanged.push({ principal, through: alreadyHeldThrough });
  }
  return summary;
}
