import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import { type AccessDifference, accessDifferences } from '../trino-rules/answers/access-difference.js';
import { AccessIndex, compareNames, compareNodes } from '../trino-rules/answers/access-index.js';
import { type Draft, type Membership, touchedNodes, withDraft } from '../trino-rules/answers/draft.js';
import { maskConflict } from '../trino-rules/model/mask-conflict.js';
import type { PolicySubject } from '../trino-rules/model/principal.js';
import type { Resource } from '../trino-rules/model/resource.js';
import type { Snapshot, SnapshotPolicy } from '../trino-rules/model/snapshot.js';
import { AdmissionService } from './admission.service.js';
import type { Forecast, Growth } from './domain/admission-ports.js';
import type { NewGrant } from './domain/grant.js';
import type { NewPolicy } from './domain/policy.js';
import { touchedPart } from './domain/touched-part.js';
import { SnapshotService } from './snapshot.service.js';

/** Changes that are not made yet; ids of rows, and `id: null` for a new policy. */
export interface DraftRequest {
  grants: readonly NewGrant[];
  revoked: readonly number[];
  policies: readonly { id: number | null; policy: NewPolicy }[];
  deleted: readonly number[];
  joined: readonly Membership[];
  left: readonly Membership[];
}

/** Why the write would be refused, by the code of its answer. */
export interface DraftCheck {
  code: 'mask_conflict' | 'rules_too_large' | 'rules_unprovable';
  message: string;
}

export interface DraftPreview {
  /** By principal, then by node; one more than was asked for, where there are more. */
  differences: AccessDifference[];
  peopleGaining: number;
  peopleLosing: number;
  checks: DraftCheck[];
  /** Null: there is enough capacity. */
  size: Forecast | null;
}

/** Position behind an item of an earlier page. */
export interface DraftCursor {
  principal: string;
  resource: Resource;
}

/** A draft for everybody on a whole catalog takes seconds of a core: so many at a time per replica. */
const DRAFTS = { name: 'drafts', limit: 4 };
const RETRY_AFTER_SECONDS = 1;
/** Longest time without other work in between. */
const SLICE_MS = 20;

/** Shows what changes of grants, policies and members would give and take. Writes nothing. */
@Injectable()
export class DraftsService {
  private underWay = 0;

  constructor(
    private readonly snapshots: SnapshotService,
    private readonly admission: AdmissionService,
    private readonly clock: Clock,
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
    const errors = this.errors(before, request);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const draft = numbered(request);
    const after = withDraft(before, draft);
    const touched = touchedNodes(before, draft);
    const nodes = touched.map(({ resource }) => resource);
    const gives = draft.grants.length + draft.policies.length + draft.joined.length > 0;
    // A write that only takes away is never refused.
    const forecast = gives
      ? await this.admission.forecast(after, touchedPart(after, nodes), growthOf(before, draft))
      : { size: null, unprovable: null };
    const counted = await counting(accessDifferences(before, after, touched), page);
    return { ...counted, size: forecast.size, checks: [...masks(after, draft.policies), ...checksOf(forecast)] };
  }

  private errors(before: Snapshot, { grants, revoked, policies, deleted, joined, left }: DraftRequest): FieldError[] {
    const index = new AccessIndex(before);
    const exists = (subject: PolicySubject): boolean =>
      subject.type === 'user'
        ? index.user(subject.id) !== undefined
        : subject.type !== 'group' || index.group(subject.id) !== undefined;
    const missing = (field: string, ids: readonly (number | null)[], rows: readonly { id: number }[], what: string) => {
      const known = new Set<number | null>(rows.map(({ id }) => id));
      return ids.flatMap((id, i): FieldError[] =>
        id === null || known.has(id)
          ? []
          : [{ field: field.replace('*', String(i)), message: `there is no such ${what}` }],
      );
    };
    const principals = [
      ...grants.map(({ principal }, i) => ({ field: `grant.${i}.principal`, named: principal })),
      ...policies.flatMap(({ policy: { principal, except } }, i) => [
        { field: `policies.put.${i}.principal`, named: principal },
        ...except.map((named, j) => ({ field: `policies.put.${i}.except.${j}`, named })),
      ]),
    ];
    const members = (list: readonly Membership[], name: string): FieldError[] => [
      ...missing(
        `members.${name}.*.group_id`,
        list.map(({ group }) => group),
        before.groups,
        'group',
      ),
      ...missing(
        `members.${name}.*.user_id`,
        list.map(({ user }) => user),
        before.users,
        'user',
      ),
    ];
    return [
      ...this.admission.grantErrors(
        grants.map((grant, i) => ({ fieldPrefix: `grant.${i}.`, grant })),
        this.clock.now(),
      ),
      ...this.admission.nodeErrors(
        policies.map(({ policy }, i) => ({ field: `policies.put.${i}.resource`, named: policy.rule.resource })),
      ),
      ...this.admission.principalErrors(principals, exists),
      ...missing('revoke.*', revoked, before.grants, 'live grant'),
      ...missing(
        'policies.put.*.id',
        policies.map(({ id }) => id),
        before.policies,
        'policy',
      ),
      ...missing('policies.delete.*', deleted, before.policies, 'policy'),
      ...members(joined, 'add'),
      ...members(left, 'remove'),
    ];
  }
}

/** New rows get ids below all others. */
function numbered({ grants, revoked, policies, deleted, joined, left }: DraftRequest): Draft {
  return {
    ...{ revoked, deleted, joined, left },
    grants: grants.map(({ principal, resource, privileges, expiresAt }, i) => ({
      id: -1 - i,
      ...{ principal, resource, privileges, expiresAt, revokedAt: null },
    })),
    policies: policies.map(({ id, policy: { rule, principal, except } }, i) => ({
      id: id ?? -1 - i,
      ...{ principal, except },
      ...rule,
    })),
  };
}

/** As the store estimates it of rows that are written. */
function growthOf({ users, groups }: Snapshot, { grants, policies, joined }: Draft): Growth {
  const names = new Map(users.map(({ id, name }) => [id, name]));
  const bytesOf = (ids: readonly number[]): number =>
    ids.reduce((sum, id) => sum + Buffer.byteLength(names.get(id) ?? '') + 1, 0);
  const bytes = grants.map(({ principal, resource: { catalog, schema = '', table = '' } }) => {
    const node = 400 + 4 * Buffer.byteLength(catalog + schema + table);
    if (principal.type === 'engine') return node + 8 * Buffer.byteLength(principal.name);
    const members =
      principal.type === 'user' ? [principal.id] : (groups.find(({ id }) => id === principal.id)?.members ?? []);
    return node + 8 * bytesOf(members);
  });
  return {
    bytes: bytes.reduce((sum, each) => sum + each, 0),
    isWide: policies.length > 0 || joined.length > 0 || grants.some(({ resource }) => resource.table === undefined),
  };
}

function masks(after: Snapshot, written: readonly SnapshotPolicy[]): DraftCheck[] {
  return written.flatMap(({ id, kind }): DraftCheck[] => {
    const conflict = kind === 'column_mask' ? maskConflict(after, id) : null;
    if (conflict === null) return [];
    const other = conflict.with < 0 ? 'another new policy' : `policy ${conflict.with}`;
    return [
      {
        code: 'mask_conflict',
        message: `${other} masks the same column at the same distance for ${conflict.principal}`,
      },
    ];
  });
}

function checksOf({ size, unprovable }: { size: Forecast | null; unprovable: string | null }): DraftCheck[] {
  return [
    ...(size?.fits === false ? [{ code: 'rules_too_large' as const, message: size.message }] : []),
    ...(unprovable === null ? [] : [{ code: 'rules_unprovable' as const, message: unprovable }]),
  ];
}

/** Counts everybody and keeps a page, letting other requests through. */
async function counting(
  differences: Iterable<AccessDifference[]>,
  { after, limit }: { after: DraftCursor | null; limit: number },
): Promise<Pick<DraftPreview, 'differences' | 'peopleGaining' | 'peopleLosing'>> {
  const found: Pick<DraftPreview, 'differences' | 'peopleGaining' | 'peopleLosing'> = {
    differences: [],
    peopleGaining: 0,
    peopleLosing: 0,
  };
  let begun = performance.now();
  for (const ofOne of differences) {
    if (ofOne.some(({ gained }) => gained !== null)) found.peopleGaining += 1;
    if (ofOne.some(({ lost }) => lost !== null)) found.peopleLosing += 1;
    const next = after === null ? ofOne : ofOne.filter((each) => isBehind(each, after));
    found.differences.push(...next.slice(0, limit + 1 - found.differences.length));
    if (performance.now() - begun > SLICE_MS) {
      await setImmediate();
      begun = performance.now();
    }
  }
  return found;
}

function isBehind({ principal, resource }: AccessDifference, after: DraftCursor): boolean {
  return (compareNames(principal.name, after.principal) || compareNodes(resource, after.resource)) > 0;
}
