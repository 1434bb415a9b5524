import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { principalNameProblem } from '../kernel/name.js';
import { INTEGER, MOMENT, NAME, NULLABLE_TEXT, PageResponse } from '../platform/http/api-fields.js';
import { PageQuery, SearchText } from '../platform/http/page.dto.js';
import { absentOr, FieldRule, WITHOUT_NUL } from '../platform/http/validation.js';
import { descriptionProblem } from './domain/grant.js';
import {
  type Group,
  GROUP_SOURCES,
  type GroupChange,
  type GroupFilter,
  type GroupSource,
  type Member,
} from './domain/group.js';
import { MEMBER_TEXT, memberParameterProblem, parseMember } from './principal.dto.js';

const GROUP_NAME = { ...NAME, description: 'Unique in any case.' };
const DESCRIPTION = { type: String, maxLength: 1000, nullable: true, pattern: WITHOUT_NUL };

export class GroupDto {
  @ApiProperty(GROUP_NAME)
  @FieldRule(principalNameProblem)
  name!: string;

  @ApiPropertyOptional(DESCRIPTION)
  @FieldRule(descriptionProblem)
  description?: string | null;
}

export class GroupChangeDto {
  @ApiPropertyOptional(GROUP_NAME)
  @FieldRule((name) => (name === undefined ? null : principalNameProblem(name)))
  name?: string;

  @ApiPropertyOptional(DESCRIPTION)
  @FieldRule(descriptionProblem)
  description?: string | null;
}

export class GroupQuery extends PageQuery {
  @SearchText('Part of the name, in any case.')
  q?: string;

  @ApiPropertyOptional({ ...MEMBER_TEXT.schema, description: `Whose groups: ${MEMBER_TEXT.description}` })
  @FieldRule(absentOr(memberParameterProblem))
  member?: string;
}

export class GroupResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
  @ApiProperty(NULLABLE_TEXT) description!: string | null;
  @ApiProperty({
    enum: GROUP_SOURCES,
    description:
      'Who says how it is called and which members it has: administrators (local), or the identity provider alone.',
  })
  source!: GroupSource;

  @ApiProperty({ ...NULLABLE_TEXT, description: "The identity provider's own id of it." })
  external_id!: string | null;

  @ApiProperty(INTEGER) member_count!: number;
  @ApiProperty(MOMENT) created_at!: string;
}

export class GroupPageResponse extends PageResponse(GroupResponse) {}

export class MemberResponse {
  @ApiProperty({ enum: ['user', 'engine'] }) type!: 'user' | 'engine';
  @ApiPropertyOptional({ ...INTEGER, description: 'Of a user.' }) id?: number;
  @ApiProperty() name!: string;
  @ApiPropertyOptional({ description: 'Of a user.' }) is_active?: boolean;
  @ApiProperty(MOMENT) added_at!: string;
}

export class MemberPageResponse extends PageResponse(MemberResponse) {}

export function toGroupFilter({ q, member }: GroupQuery): GroupFilter {
  return { text: q ?? null, member: member === undefined ? null : parseMember(member) };
}

export function toGroupChange({ name, description }: GroupChangeDto): GroupChange {
  return { ...(name === undefined ? {} : { name }), ...(description === undefined ? {} : { description }) };
}

export function toGroupResponse(group: Group): GroupResponse {
  const { id, name, description, source, externalId, memberCount, createdAt } = group;
  const fields = { id, name, description, source, external_id: externalId };
  return { ...fields, member_count: memberCount, created_at: createdAt.toISOString() };
}

export function toMemberResponse({ principal, isActive, addedAt }: Member): MemberResponse {
  return { ...principal, ...(isActive !== null && { is_active: isActive }), added_at: addedAt.toISOString() };
}
