import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type FieldError, Refused } from '../kernel/errors.js';
import { principalNameProblem } from '../kernel/name.js';
import { pageOf } from '../kernel/page.js';
import { ApiField, ApiNullable, INTEGER, NAME, NULLABLE_TEXT, TEXTS } from '../platform/http/api-fields.js';
import { AfterNames, Limit, LIMITS } from '../platform/http/page.dto.js';
import { FieldRule, idProblem, NestedArray, NestedObject } from '../platform/http/validation.js';
import type { AccessDifference, AccessPart } from '../trino-rules/answers/access-difference.js';
import type { Membership } from '../trino-rules/answers/draft.js';
import type { GuaranteeVerdictForm } from '../trino-rules/answers/guarantee-verdicts.js';
import { compareNames, type NamedNode } from '../trino-rules/model/node.js';
import type { NamedPrincipal } from '../trino-rules/model/principal.js';
import {
  AccessResponse,
  namesOfNode,
  THROUGH_ANSWER,
  type ThroughResponse,
  toAccess,
  toThrough,
} from './access.response.js';
import type { DraftRequest } from './domain/draft-request.js';
import type { DraftPreview } from './drafts.service.js';
import { BATCH_MOST, GrantBatchDto, RowIds, toNewGrant } from './grants.dto.js';
import { parsePolicy, PolicyDto } from './policies.dto.js';
import { GuaranteeWitnessResponse } from './guarantees.dto.js';
import { PRINCIPAL_ANSWER } from './principal.dto.js';
import { RESOURCE_ANSWER } from './resource.dto.js';

const ID = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 } as const;

class DraftPolicyDto extends PolicyDto {
  @ApiPropertyOptional({ ...ID, description: 'Of the policy that it replaces; without it, a new one.' })
  @FieldRule((id) => (id === undefined ? null : idProblem(id)))
  id?: number;
}

class DraftPoliciesDto {
  @ApiPropertyOptional({ type: [DraftPolicyDto], maxItems: BATCH_MOST })
  @NestedArray(() => DraftPolicyDto, BATCH_MOST)
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
  @ApiPropertyOptional({ type: [MembershipDto], maxItems: BATCH_MOST })
  @NestedArray(() => MembershipDto, BATCH_MOST)
  add: MembershipDto[] = [];

  @ApiPropertyOptional({ type: [MembershipDto], maxItems: BATCH_MOST })
  @NestedArray(() => MembershipDto, BATCH_MOST)
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
  @Limit(LIMITS.names)
  limit = LIMITS.names.fallback;

  @AfterNames()
  after: string[] | null = null;
}

/** @throws Refused `validation_failed` when the fields of policies do not match their kinds */
export function toDraftRequest({ grant, revoke, policies, members }: DraftDto): DraftRequest {
  const errors: FieldError[] = [];
  const put = policies.put.flatMap(({ id = null, ...rest }, i) => {
    const policy = parsePolicy(rest);
    if (!Array.isArray(policy)) return [{ id, policy }];
    errors.push(...policy.map(({ field, message }) => ({ field: `policies.put.${i}.${field}`, message })));
    return [];
  });
  if (errors.length > 0) throw new Refused('validation_failed', { errors });
  return {
    grants: grant.map(toNewGrant),
    revoked: revoke,
    policies: put,
    deleted: policies.delete,
    joined: members.add.map(toMembership),
    left: members.remove.map(toMembership),
  };
}

function toMembership({ group_id: group, user_id = 0, engine }: MembershipDto): Membership {
  return { group, member: engine === undefined ? { type: 'user', id: user_id } : { type: 'engine', name: engine } };
}

/** A gain of a principal at a node (privileges, and restrictions that end) or a loss (privileges, and restrictions that begin). */
class AccessDifferenceResponse extends AccessResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiProperty(RESOURCE_ANSWER) resource!: NamedNode;
}

class UnchangedResponse {
  @ApiProperty({ type: Object, ...PRINCIPAL_ANSWER }) principal!: NamedPrincipal;
  @ApiField(THROUGH_ANSWER, 'How it has it without the draft.') through!: ThroughResponse;
}

const CHECKS = ['name_taken', 'mask_conflict', 'rules_too_large', 'rules_unprovable', 'guarantee_broken'];

class DraftCheckResponse {
  @ApiProperty({ enum: CHECKS }) code!: string;
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

  @ApiField([UnchangedResponse], 'Whom the draft gives something, and who have all of it already; in the same pages.')
  unchanged!: UnchangedResponse[];

  @ApiField(INTEGER, 'Of all pages, engine principals included.') people_gaining!: number;
  @ApiField(INTEGER, 'Of all pages.') people_losing!: number;
  @ApiField(INTEGER, 'Of all pages.') people_unchanged!: number;

  @ApiField(
    TEXTS,
    'Where the draft gives or takes something on everything: the catalogs that are known; it holds in later ones too.',
  )
  catalogs!: string[];

  @ApiField([DraftCheckResponse], 'Why the write would be refused.') checks!: DraftCheckResponse[];
  @ApiField(TEXTS, 'What the write would be answered with about expressions of policies.') warnings!: string[];

  @ApiField([DraftGuaranteeResponse], 'Broken by the draft, or broken now and mended by it.')
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
    ...('resource' in entry ? namesOfNode(entry.resource) : []),
  ]);
  const page = new Set(items);
  const side = (partOf: (difference: AccessDifference) => AccessPart | null): AccessDifferenceResponse[] =>
    differences.flatMap((difference) => {
      const { principal, resource } = difference;
      const part = page.has(difference) ? partOf(difference) : null;
      return part === null ? [] : [{ principal, resource, ...toAccess(part) }];
    });
  return {
    gains: side(({ gained }) => gained),
    loses: side(({ lost }) => lost),
    unchanged: preview.unchanged.flatMap((entry) =>
      page.has(entry) ? [{ principal: entry.principal, through: toThrough(entry.through) }] : [],
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
