import {
  Body,
  Controller,
  Delete,
  Get,
  Injectable,
  Param,
  Patch,
  type PipeTransform,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiOkResponse, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { mapPage } from '../kernel/page.js';
import { AdministratorsOnly, CurrentAuditContext, OpenToTokens } from '../platform/http/access.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { ApiRoute, NoContent } from '../platform/http/openapi.js';
import { NamePageQuery } from '../platform/http/page.dto.js';
import { RowIdPipe } from '../platform/http/parameters.js';
import type { GroupMember } from '../trino-rules/model/principal.js';
import { WRITE_REFUSALS } from './grants.dto.js';
import {
  GroupChangeDto,
  GroupDto,
  GroupPageResponse,
  GroupQuery,
  GroupResponse,
  MemberPageResponse,
  toGroupChange,
  toGroupFilter,
  toGroupResponse,
  toMemberResponse,
} from './groups.dto.js';
import { GroupsService } from './groups.service.js';
import { GroupStore } from './group.store.js';
import { found } from '../kernel/errors.js';
import { MEMBER_TEXT, parseMember } from './principal.dto.js';

/** A member of a group in a path: a user's id, or `engine:NAME`. What is neither gets 404, like an unknown one. */
@Injectable()
class MemberPipe implements PipeTransform<string, GroupMember> {
  transform(text: string): GroupMember {
    return found(parseMember(text));
  }
}

const MEMBER_PARAMETER = { name: 'member', ...MEMBER_TEXT } as const;

@ApiTags('groups')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/groups')
export class GroupsController {
  constructor(
    private readonly groups: GroupsService,
    private readonly store: GroupStore,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listGroups', 'Groups, a page at a time')
  @Get()
  @ApiOkResponse({ type: GroupPageResponse })
  async list(@Query() query: GroupQuery): Promise<GroupPageResponse> {
    return mapPage(await this.store.list(toGroupFilter(query), query), toGroupResponse);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('createGroup', 'Make a group', 'busy', 'name_taken')
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiCreatedResponse({ type: GroupResponse })
  async create(
    @Body() { name, description }: GroupDto,
    @CurrentAuditContext() by: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GroupResponse> {
    const group = await this.groups.create(name, description ?? null, by);
    void reply.header('Location', `/api/admin/groups/${group.id}`);
    return toGroupResponse(group);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getGroup', 'One group')
  @Get(':id')
  @ApiOkResponse({ type: GroupResponse })
  async find(@Param('id', RowIdPipe) id: number): Promise<GroupResponse> {
    return toGroupResponse(found(await this.store.find(id)));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('changeGroup', 'Rename or describe a group', 'busy', 'name_taken', 'managed_elsewhere')
  @Patch(':id')
  @BodyLimits(ADMINISTRATION)
  @ApiOkResponse({ type: GroupResponse })
  async change(
    @Param('id', RowIdPipe) id: number,
    @Body() body: GroupChangeDto,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<GroupResponse> {
    return toGroupResponse(await this.groups.change(id, toGroupChange(body), by));
  }

  @OpenToTokens('admin.write')
  @ApiRoute(
    'deleteGroup',
    'Delete a group that no grant and no policy names',
    'busy',
    'group_in_use',
    'managed_elsewhere',
  )
  @Delete(':id')
  @NoContent()
  delete(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() by: AuditContext): Promise<void> {
    return this.groups.delete(id, by);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('listGroupMembers', 'Members of a group, a page at a time')
  @Get(':id/members')
  @ApiOkResponse({ type: MemberPageResponse })
  async members(@Param('id', RowIdPipe) id: number, @Query() page: NamePageQuery): Promise<MemberPageResponse> {
    return mapPage(found(await this.store.members(id, page)), toMemberResponse);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('addGroupMember', 'Add a member to a group', ...WRITE_REFUSALS, 'managed_elsewhere')
  @Put(':id/members/:member')
  @ApiParam(MEMBER_PARAMETER)
  @NoContent()
  addMember(
    @Param('id', RowIdPipe) id: number,
    @Param('member', MemberPipe) member: GroupMember,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.groups.addMember(id, member, by);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('removeGroupMember', 'Remove a member from a group', 'busy', 'managed_elsewhere')
  @Delete(':id/members/:member')
  @ApiParam(MEMBER_PARAMETER)
  @NoContent()
  removeMember(
    @Param('id', RowIdPipe) id: number,
    @Param('member', MemberPipe) member: GroupMember,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.groups.removeMember(id, member, by);
  }
}
