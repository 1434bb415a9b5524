import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import {
  type AccessDifference,
  accessDifferences,
  type AccessOutcome,
  givenBy,
} from '../trino-rules/answers/access-difference.js';
import {
  brokenText,
  type GuaranteeVerdict,
  type GuaranteeVerdictForm,
} from '../trino-rules/answers/guarantee-verdicts.js';
import { expressionWarnings } from '../trino-rules/document/expression-warnings.js';
import { compareNames, compareNodes, kindOf, type NamedNode, type Node } from '../trino-rules/model/node.js';
import { touchedBy, withDraft } from '../trino-rules/answers/draft.js';
import type { NamedPrincipal, PolicyPrincipal } from '../trino-rules/model/principal.js';
import { Principals, type Through } from '../trino-rules/model/principals.js';
import { type Snapshot, principalsOf } from '../trino-rules/model/snapshot.js';
import { AdmissionService, type GrantRequest, namesOfGrant, namesOfPolicy } from './admission.service.js';
import type { Forecast } from './domain/admission-ports.js';
import { isBreaking, isTouched, judgedPart } from './domain/guarantee.js';
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
import { inSlices } from './access.service.js';
import { GuaranteeStore } from './guarantee.store.js';

export interface Unchanged {
  principal: NamedPrincipal;
  /** The origin of the access that the principal has without the draft. */
  through: Through;
}

export interface DraftPreview {
  /** A page, ordered by principal, then by node. Together with `unchanged` it has one more than the limit where there are more. */
  differences: (AccessDifference & { resource: NamedNode })[];
  /** Principals to whom the draft gives only access that they have already, ordered by name. */
  unchanged: Unchanged[];
  peopleGaining: number;
  peopleLosing: number;
  peopleUnchanged: number;
  /** The known data catalogs if the draft changes an entry on everything; otherwise empty. */
  catalogs: readonly string[];
  checks: DraftCheck[];
  warnings: string[];
  /** Guarantees that the draft breaks, and broken ones that it mends. */
  guarantees: GuaranteeVerdictForm[];
  /** Null: there is enough capacity. */
  size: Forecast | null;
}

export interface DraftCursor {
  principal: string;
  resource: Node;
}

/** Drafts computed at a time per replica: one for everybody on a whole catalog takes seconds of a core. */
const DRAFTS = { name: 'drafts', limit: 4 };
const RETRY_AFTER_SECONDS = 1;

/** Previews the access that changes of grants, policies and members would give and take. Writes nothing. */
@Injectable()
export class DraftsService {
  private underWay = 0;

  constructor(
    private readonly snapshots: SnapshotStore,
    private readonly admission: AdmissionService,
    private readonly clock: Clock,
    private readonly guarantees: GuaranteeStore,
  ) {}

  /** @throws Refused `validation_failed` with all errors, `too_many_requests` */
  async preview(request: DraftRequest, page: { after: DraftCursor | null; limit: number }): Promise<DraftPreview> {
    if (this.underWay >= DRAFTS.limit) {
      throw new Refused('too_many_requests', { quota: DRAFTS, retryAfter: RETRY_AFTER_SECONDS });
    }
    this.underWay += 1;
    try {
      return await this.make(request, page);
    } finally {
      this.underWay -= 1;
    }
  }

  private async make(request: DraftRequest, page: { after: DraftCursor | null; limit: number }): Promise<DraftPreview> {
    const before = await this.snapshots.read();
    const errors = this.requestErrors(before, request);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const draft = draftOfRequest(request);
    const after = withDraft(before, draft);
    const chained = this.admission.actingErrors(grantRequests(request), new Principals(after).actors);
    if (chained.length > 0) throw new Refused('validation_failed', { errors: chained });
    const touched = touchedBy(before, draft);
    const nodes = touched.flatMap((each) => each.nodes);
    const gives = draft.grants.length + draft.policies.length + draft.joined.length > 0;
    // A write that only takes access away is never refused.
    const groups = [...draft.joined, ...draft.left].map(({ group }) => group);
    const written = [...draft.grants, ...draft.policies].flatMap(principalsOf);
    const named = [...written, ...draft.joined.map(({ member }) => member)];
    const joining = [...draft.grants.map(({ principal }) => principal), ...draft.joined.map(({ member }) => member)];
    const near = { nodes, groups, mayJoinEveryone: joining.some(({ type }) => type === 'engine') };
    const guarantees = (before.guarantees ?? []).filter((each) => isTouched(each, near));
    const judged = judgedPart(guarantees, before.settings);
    const part = ({ guarantees: _, ...snapshot }: Snapshot): Snapshot => ({
      ...touchedPart(snapshot, [...nodes, ...judged.nodes], judged.named),
      ...(guarantees.length > 0 && { guarantees }),
    });
    const former = guarantees.length > 0 ? part(before) : null;
    const forecast =
      gives || former !== null
        ? this.admission.forecast(after, part(after), growthOf(before, draft), former)
        : { size: null, unprovable: null, verdicts: [] };
    // The forecast's proof runs in another process, at the same time.
    const [{ size, unprovable, verdicts }, counted] = await Promise.all([
      forecast,
      counting(accessDifferences(before, after, touched, givenBy(before, draft)), page),
    ]);
    const conflicts: DraftCheck[] = [];
    for await (const check of inSlices(maskChecks(before, after, draft.policies)))
      if (check !== null) conflicts.push(check);
    const taken = await this.admission.takenName(named);
    const names: DraftCheck[] = taken === null ? [] : [{ code: 'name_taken', message: taken }];
    const principals = new Principals(before);
    const differences = counted.differences.map((each) => ({ ...each, resource: principals.namedNode(each.resource) }));
    const catalogs = nodes.some((node) => kindOf(node) === 'everything') ? knownCatalogs(after) : [];
    return {
      ...counted,
      differences,
      catalogs,
      size: gives ? size : null,
      checks: [...names, ...conflicts, ...(gives ? checksOf({ size, unprovable }) : []), ...brokenChecks(verdicts)],
      guarantees: await this.guarantees.changedBy(verdicts),
      warnings: [...new Set(draft.policies.flatMap(expressionWarnings))],
    };
  }

  private requestErrors(before: Snapshot, request: DraftRequest): FieldError[] {
    const { policies, joined } = request;
    const known = new Principals(before);
    // Engine principals count as existing: `principalErrors` refuses those that are service accounts.
    const exists = (named: PolicyPrincipal): boolean => named.type === 'engine' || known.exists(named);
    const principals = [
      ...grantRequests(request).flatMap(namesOfGrant),
      ...policies.flatMap(({ policy }, i) => namesOfPolicy(`policies.put.${i}.`, policy)),
    ];
    const joining = joined.flatMap(({ member }, i) =>
      member.type === 'engine' ? [{ field: `members.add.${i}`, named: member }] : [],
    );
    return [
      ...this.admission.grantErrors(grantRequests(request), this.clock.now()),
      ...this.admission.nodeErrors(
        policies.map(({ policy }, i) => ({ field: `policies.put.${i}.resource`, named: policy.rule.resource })),
      ),
      ...this.admission.principalErrors([...principals, ...joining], exists),
      ...rowErrors(before, request),
    ];
  }
}

function grantRequests({ grants }: DraftRequest): GrantRequest[] {
  return grants.map((grant, i) => ({ fieldPrefix: `grant.${i}.`, grant }));
}

function checksOf({ size, unprovable }: { size: Forecast | null; unprovable: string | null }): DraftCheck[] {
  return [
    ...(size?.fits === false ? [{ code: 'rules_too_large' as const, message: size.message }] : []),
    ...(unprovable === null ? [] : [{ code: 'rules_unprovable' as const, message: unprovable }]),
  ];
}

function brokenChecks(verdicts: readonly GuaranteeVerdict[]): DraftCheck[] {
  return verdicts.filter(isBreaking).map((verdict) => ({ code: 'guarantee_broken', message: brokenText(verdict) }));
}

type Counted = Omit<DraftPreview, 'differences' | 'catalogs' | 'checks' | 'warnings' | 'guarantees' | 'size'> & {
  differences: AccessDifference[];
};

/** Counts the principals of all outcomes and keeps a page of differences. */
async function counting(
  outcomes: Iterable<AccessOutcome | null>,
  { after, limit }: { after: DraftCursor | null; limit: number },
): Promise<Counted> {
  const found: Counted = { differences: [], unchanged: [], peopleGaining: 0, peopleLosing: 0, peopleUnchanged: 0 };
  for await (const outcome of inSlices(outcomes)) {
    if (outcome === null) continue;
    const { principal, differences, heldThrough } = outcome;
    if (differences.some(({ gained }) => gained !== null)) found.peopleGaining += 1;
    if (differences.some(({ lost }) => lost !== null)) found.peopleLosing += 1;
    const wanted = limit + 1 - found.differences.length - found.unchanged.length;
    const isBehind = ({ resource }: AccessDifference) =>
      after === null || (compareNames(principal.name, after.principal) || compareNodes(resource, after.resource)) > 0;
    const next = differences.filter(isBehind);
    found.differences.push(...next.slice(0, wanted));
    if (heldThrough === null) continue;
    found.peopleUnchanged += 1;
    if (wanted > 0 && (after === null || compareNames(principal.name, after.principal) > 0))
      found.unchanged.push({ principal, through: heldThrough });
  }
  return found;
}
