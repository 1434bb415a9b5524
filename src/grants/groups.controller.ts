import { Body, Controller, Delete, Get, Param, Patch, Post, Put, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiParam, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { orNotFound } from '../kernel/errors.js';
import { principalNameProblem } from '../kernel/name.js';
import { mapPage } from '../kernel/page.js';
import { AdministratorsOnly, CurrentAuditContext, OpenToTokens } from '../platform/http/access.js';
import { INTEGER, MOMENT, NAME, NULLABLE_TEXT, PageResponse } from '../platform/http/api-fields.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { Answers, ApiRoute, NoContent } from '../platform/http/openapi.js';
import { NamePageQuery, PageQuery, SearchText } from '../platform/http/page.dto.js';
import { RowIdPipe } from '../platform/http/parameters.js';
import { optionalRule, FieldRule, WITHOUT_NUL } from '../platform/http/validation.js';
import { descriptionProblem } from './domain/grant.js';
import { type Group, GROUP_SOURCES, type GroupSource, type Member } from './domain/group.js';
import { WRITE_REFUSALS } from './grants.dto.js';
import { GroupStore } from './group.store.js';
import { GroupsService } from './groups.service.js';
import { MEMBER_TEXT, memberParameterProblem, parseMember } from './principal.dto.js';

const GROUP_NAME = { ...NAME, description: 'Unique in any case.' };
const DESCRIPTION = { type: String, maxLength: 1000, nullable: true, pattern: WITHOUT_NUL };

class GroupDto {
  @ApiProperty(GROUP_NAME)
  @FieldRule(principalNameProblem)
  name!: string;

  @ApiPropertyOptional(DESCRIPTION)
  @FieldRule(descriptionProblem)
  description?: string | null;
}

class GroupChangeDto {
  @ApiPropertyOptional(GROUP_NAME)
  @FieldRule((name) => (name === undefined ? null : principalNameProblem(name)))
  name?: string;

  @ApiPropertyOptional(DESCRIPTION)
  @FieldRule(descriptionProblem)
  description?: string | null;
}

class GroupQuery extends PageQuery {
  @SearchText('Part of the name, in any case.')
  q?: string;

  @ApiPropertyOptional({ ...MEMBER_TEXT.schema, description: `Whose groups: ${MEMBER_TEXT.description}` })
  @FieldRule(optionalRule(memberParameterProblem))
  member?: string;
}

class GroupResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() name!: string;
  @ApiProperty(NULLABLE_TEXT) description!: string | null;
  @ApiProperty({
    enum: GROUP_SOURCES,
    description:
      'The source of its name and members: administrators (`local`), or the identity provider (`oidc`, `scim`).',
  })
  source!: GroupSource;

  @ApiProperty({ ...NULLABLE_TEXT, description: "The identity provider's id of the group." })
  external_id!: string | null;

  @ApiProperty(INTEGER) member_count!: number;
  @ApiProperty(MOMENT) created_at!: string;
}

class GroupPageResponse extends PageResponse(GroupResponse) {}

class MemberResponse {
  @ApiProperty({ enum: ['user', 'engine'] }) type!: 'user' | 'engine';
  @ApiPropertyOptional({ ...INTEGER, description: "The account's id; only for a user." }) id?: number;
  @ApiProperty() name!: string;
  @ApiPropertyOptional({ description: 'Whether the account is active; only for a user.' }) is_active?: boolean;
  @ApiProperty(MOMENT) added_at!: string;
}

class MemberPageResponse extends PageResponse(MemberResponse) {}

function toGroupResponse(group: Group): GroupResponse {
  const { id, name, description, source, externalId, memberCount, createdAt } = group;
  const fields = { id, name, description, source, external_id: externalId };
  return { ...fields, member_count: memberCount, created_at: createdAt.toISOString() };
}

function toMemberResponse({ principal, isActive, addedAt }: Member): MemberResponse {
  return { ...principal, ...(isActive !== null && { is_active: isActive }), added_at: addedAt.toISOString() };
}

const GROUP_REFUSALS = ['busy', 'managed_elsewhere'] as const;

/** The path parameter for a member of a group. A text of another form gets 404, like an unknown member. */
const MEMBER_PARAMETER = { name: 'member', ...MEMBER_TEXT } as const;

@ApiTags('groups')
@AdministratorsOnly()
@Controller('api/admin/groups')
export class GroupsController {
  constructor(
    private readonly groups: GroupsService,
    private readonly groupStore: GroupStore,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listGroups', 'Groups, a page at a time')
  @Get()
  @Answers(GroupPageResponse)
  async list(@Query() query: GroupQuery): Promise<GroupPageResponse> {
    return mapPage(
      await this.groupStore.list({ text: query.q, member: parseMember(query.member ?? '') }, query),
      toGroupResponse,
    );
  }

  @OpenToTokens('admin.write')
  @ApiRoute('createGroup', 'Make a group', 'busy', 'name_taken')
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiCreatedResponse({ type: GroupResponse })
  async create(
    @Body() { name, description }: GroupDto,
    @CurrentAuditContext() context: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GroupResponse> {
    const group = await this.groups.create(name, description ?? null, context);
    void reply.header('Location', `/api/admin/groups/${group.id}`);
    return toGroupResponse(group);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getGroup', 'One group')
  @Get(':id')
  @Answers(GroupResponse)
  async find(@Param('id', RowIdPipe) id: number): Promise<GroupResponse> {
    return toGroupResponse(orNotFound(await this.groupStore.find(id)));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('changeGroup', 'Rename or describe a group', 'name_taken', ...GROUP_REFUSALS)
  @Patch(':id')
  @BodyLimits(ADMINISTRATION)
  @Answers(GroupResponse)
  async change(
    @Param('id', RowIdPipe) id: number,
    @Body() { name, description }: GroupChangeDto,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<GroupResponse> {
    const change = { ...(name !== undefined && { name }), ...(description !== undefined && { description }) };
    return toGroupResponse(await this.groups.change(id, change, context));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('deleteGroup', 'Delete a group that no live grant and no policy names', 'group_in_use', ...GROUP_REFUSALS)
  @Delete(':id')
  @NoContent()
  delete(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() context: AuditContext): Promise<void> {
    return this.groups.delete(id, context);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('listGroupMembers', 'Members of a group, a page at a time')
  @Get(':id/members')
  @Answers(MemberPageResponse)
  async members(@Param('id', RowIdPipe) id: number, @Query() page: NamePageQuery): Promise<MemberPageResponse> {
    return mapPage(orNotFound(await this.groupStore.listMembers(id, page)), toMemberResponse);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('addGroupMember', 'Add a member to a group', ...WRITE_REFUSALS, ...GROUP_REFUSALS)
  @Put(':id/members/:member')
  @ApiParam(MEMBER_PARAMETER)
  @NoContent()
  async addMember(
    @Param('id', RowIdPipe) id: number,
    @Param('member') member: string,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<void> {
    await this.groups.addMember(id, orNotFound(parseMember(member)), context);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('removeGroupMember', 'Remove a member from a group', ...GROUP_REFUSALS, 'guarantee_broken')
  @Delete(':id/members/:member')
  @ApiParam(MEMBER_PARAMETER)
  @NoContent()
  async removeMember(
    @Param('id', RowIdPipe) id: number,
    @Param('member') member: string,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<void> {
    await this.groups.removeMember(id, orNotFound(parseMember(member)), context);
  }
}
