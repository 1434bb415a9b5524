import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type FieldError, Refused } from '../kernel/errors.js';
import { principalNameProblem } from '../kernel/name.js';
import { pageOf } from '../kernel/page.js';
import { ApiField, ApiNullable, INTEGER, NAME, NULLABLE_TEXT, TEXTS } from '../platform/http/api-fields.js';
import { AfterNames, Limit, PAGE_LIMITS } from '../platform/http/page.dto.js';
import { FieldRule, idProblem, NestedArray, NestedObject } from '../platform/http/validation.js';
import type { AccessDifference, AccessPart } from '../trino-rules/answers/access-difference.js';
import type { Membership } from '../trino-rules/answers/draft.js';
import type { GuaranteeVerdictForm } from '../trino-rules/answers/guarantee-verdicts.js';
import { compareNames, type NamedNode } from '../trino-rules/model/node.js';
import type { NamedPrincipal } from '../trino-rules/model/principal.js';
import {
  AccessResponse,
  cursorOfNode,
  THROUGH_ANSWER,
  type ThroughResponse,
  toAccessFields,
  toThrough,
} from './access.response.js';
import type { DraftRequest } from './domain/draft-request.js';
import type { DraftPreview } from './drafts.service.js';
import { MAX_BATCH, GrantBatchDto, RowIds, toNewGrant } from './grants.dto.js';
import { parsePolicy, PolicyDto } from './policies.dto.js';
import { GuaranteeWitnessResponse } from './guarantees.dto.js';
import { ID, PRINCIPAL_ANSWER } from './principal.dto.js';
import { RESOURCE_ANSWER } from './resource.dto.js';

class DraftPolicyDto extends PolicyDto {
  @ApiPropertyOptional({ ...ID, description: 'The policy to replace; without it, a new policy.' })
  @FieldRule((id) => (id === undefined ? null : idProblem(id)))
  id?: number;
}

class DraftPoliciesDto {
  @ApiPropertyOptional({ type: [DraftPolicyDto], maxItems: MAX_BATCH })
  @NestedArray(() => DraftPolicyDto, MAX_BATCH)
  put: DraftPolicyDto[] = [];

  @RowIds()
  delete: number[] = [];
}

class MembershipDto {
  @ApiProperty(ID)
  @FieldRule(idProblem)
  group_id!: number;

  @ApiPropertyOptional({ ...ID, description: 'The account.' })
  @FieldRule<MembershipDto>((id, { engine }) => {
    if (engine === undefined) return idProblem(id);
    return id === undefined ? null : 'cannot be given beside engine';
  })
  user_id?: number;

  @ApiPropertyOptional({ ...NAME, description: 'Or the engine principal.' })
  @FieldRule((name) => (name === undefined ? null : principalNameProblem(name)))
  engine?: string;
}

class DraftMembersDto {
  @ApiPropertyOptional({ type: [MembershipDto], maxItems: MAX_BATCH })
  @NestedArray(() => MembershipDto, MAX_BATCH)
  add: MembershipDto[] = [];

  @ApiPropertyOptional({ type: [MembershipDto], maxItems: MAX_BATCH })
  @NestedArray(() => MembershipDto, MAX_BATCH)
  remove: MembershipDto[] = [];
}

export class DraftDto extends GrantBatchDto {
  @ApiPropertyOptional({ type: DraftPoliciesDto })
  @NestedObject(() => DraftPoliciesDto)
  policies: DraftPoliciesDto = new DraftPoliciesDto();

  @ApiPropertyOptional({ type: DraftMembersDto })
  @NestedObject(() => DraftMembersDto)
  members: DraftMembersDto = new DraftMembersDto();
}

export class DraftQuery {
  @Limit(PAGE_LIMITS.names)
  limit = PAGE_LIMITS.names.defaultLimit;

  @AfterNames()
  after: string[] | null = null;
}

/** @throws Refused `validation_failed` when the fields of policies do not match their kinds */
export function toDraftRequest({ grant, revoke, policies, members }: DraftDto): DraftRequest {
  const errors: FieldError[] = [];
  const policyDrafts = policies.put.flatMap(({ id = null, ...policyFields }, i) => {
    const policy = parsePolicy(policyFields);
    if (!Array.isArray(policy)) return [{ id, policy }];
    errors.push(...policy.map(({ field, message }) => ({ field: `policies.put.${i}.${field}`, message })));
    return [];
  });
  if (errors.length > 0) throw new Refused('validation_failed', { errors });
  return {
    grants: grant.map(toNewGrant),
    revokedGrantIds: revoke,
    policies: policyDrafts,
    deletedPolicyIds: policies.delete,
    addedMembers: members.add.map(toMembership),
    removedMembers: members.remove.map(toMembership),
  };
}

function toMembership({ group_id: group, user_id = 0, engine }: MembershipDto): Membership {
  return { group, member: engine === undefined ? { type: 'user', id: user_id } : { type: 'engine', name: engine } };
}

/** Access that a principal gains or loses at a node. A restriction that ends counts as a gain, a new restriction as a loss. */
class AccessDifferenceResponse extends AccessResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiProperty(RESOURCE_ANSWER) resource!: NamedNode;
}

class UnchangedResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiField(THROUGH_ANSWER, 'How the principal has the access without the draft.') through!: ThroughResponse;
}

const CHECK_CODES = ['name_taken', 'mask_conflict', 'rules_too_large', 'rules_unprovable', 'guarantee_broken'];

class DraftCheckResponse {
  @ApiProperty({ enum: CHECK_CODES }) code!: string;
  @ApiProperty() message!: string;
}

class DraftGuaranteeResponse implements GuaranteeVerdictForm {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: ['holds', 'broken'] }) state!: GuaranteeVerdictForm['state'];
  @ApiProperty({ type: [GuaranteeWitnessResponse] }) witnesses!: GuaranteeVerdictForm['witnesses'];
}

class DraftSizeResponse {
  @ApiProperty() fits!: boolean;
  @ApiProperty() message!: string;
}

export class DraftPreviewResponse {
  @ApiProperty({ type: [AccessDifferenceResponse] }) gains!: AccessDifferenceResponse[];
  @ApiProperty({ type: [AccessDifferenceResponse] }) loses!: AccessDifferenceResponse[];

  @ApiField([UnchangedResponse], 'Principals that have all of the given access already; in the same pages.')
  unchanged!: UnchangedResponse[];

  @ApiField(INTEGER, 'On all pages, engine principals included.') people_gaining!: number;
  @ApiField(INTEGER, 'On all pages.') people_losing!: number;
  @ApiField(INTEGER, 'On all pages.') people_unchanged!: number;

  @ApiField(
    TEXTS,
    'The known catalogs, if the draft changes a grant or policy on everything, which also holds in later catalogs.',
  )
  catalogs!: string[];

  @ApiField([DraftCheckResponse], 'Reasons for which the write would be refused.') checks!: DraftCheckResponse[];
  @ApiField(TEXTS, 'Warnings about expressions of policies that the write would give.') warnings!: string[];

  @ApiField([DraftGuaranteeResponse], 'Guarantees that the draft breaks, and broken ones that it mends.')
  guarantees!: GuaranteeVerdictForm[];

  @ApiNullable(DraftSizeResponse, 'Null: there is enough capacity.') size!: DraftSizeResponse | null;
  @ApiProperty(NULLABLE_TEXT) next!: string | null;
}

export function toDraftPreview(preview: DraftPreview, limit: number): DraftPreviewResponse {
  const { differences, peopleGaining, peopleLosing, peopleUnchanged, catalogs, checks, warnings, guarantees, size } =
    preview;
  const entries = [...differences, ...preview.unchanged].sort((a, b) =>
    compareNames(a.principal.name, b.principal.name),
  );
  const { items, next } = pageOf(entries, limit, (entry) => [
    entry.principal.name,
    ...('resource' in entry ? cursorOfNode(entry.resource) : []),
  ]);
  const pageItems = new Set(items);
  const entriesOf = (partOf: (difference: AccessDifference) => AccessPart | null): AccessDifferenceResponse[] =>
    differences.flatMap((difference) => {
      const { principal, resource } = difference;
      const accessPart = pageItems.has(difference) ? partOf(difference) : null;
      return accessPart === null ? [] : [{ principal, resource, ...toAccessFields(accessPart) }];
    });
  return {
    gains: entriesOf(({ gained }) => gained),
    loses: entriesOf(({ lost }) => lost),
    unchanged: preview.unchanged.flatMap((entry) =>
      pageItems.has(entry) ? [{ principal: entry.principal, through: toThrough(entry.through) }] : [],
    ),
    people_gaining: peopleGaining,
    people_losing: peopleLosing,
    people_unchanged: peopleUnchanged,
    catalogs: [...catalogs],
    checks,
    warnings,
    guarantees,
    size,
    next,
  };
}
