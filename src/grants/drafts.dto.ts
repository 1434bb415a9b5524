import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { type FieldError, Refused } from '../kernel/errors.js';
import { principalNameProblem } from '../kernel/name.js';
import { NAME } from '../platform/http/api-fields.js';
import { AfterNames, Limit, LIMITS } from '../platform/http/page.dto.js';
import { FieldRule, idProblem, NestedArray, NestedObject } from '../platform/http/validation.js';
import type { Membership } from '../trino-rules/answers/draft.js';
import type { DraftRequest } from './domain/draft-request.js';
import { BATCH_MOST, GrantBatchDto, RowIds, toNewGrant } from './grants.dto.js';
import { parsePolicy, PolicyDto } from './policies.dto.js';

const ID = { type: 'integer', minimum: 1, maximum: 2 ** 31 - 1 } as const;

/** A policy to create, or to put in the place of one. */
export class DraftPolicyDto extends PolicyDto {
  @ApiPropertyOptional({ ...ID, description: 'Of the policy that it replaces; without it, a new one.' })
  @FieldRule((id) => (id === undefined ? null : idProblem(id)))
  id?: number;
}

export class DraftPoliciesDto {
  @ApiPropertyOptional({ type: [DraftPolicyDto], maxItems: BATCH_MOST })
  @NestedArray(() => DraftPolicyDto, BATCH_MOST)
  put: DraftPolicyDto[] = [];

  @RowIds()
  delete: number[] = [];
}

export class MembershipDto {
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

export class DraftMembersDto {
  @ApiPropertyOptional({ type: [MembershipDto], maxItems: BATCH_MOST })
  @NestedArray(() => MembershipDto, BATCH_MOST)
  add: MembershipDto[] = [];

  @ApiPropertyOptional({ type: [MembershipDto], maxItems: BATCH_MOST })
  @NestedArray(() => MembershipDto, BATCH_MOST)
  remove: MembershipDto[] = [];
}

/** Changes that are not made yet. */
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
