import { Body, Controller, Delete, Get, Param, Patch, Post, Put, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { mapPage } from '../kernel/page.js';
import { AdministratorsOnly, CurrentAuditContext } from '../platform/access.js';
import { ApiRoute, NoContent } from '../platform/openapi.js';
import { PageQuery } from '../platform/page.dto.js';
import { RowIdPipe } from '../platform/row-id.pipe.js';
import {
  GroupChangeDto,
  GroupDto,
  GroupPageResponse,
  GroupResponse,
  MemberPageResponse,
  toGroupChange,
  toGroupResponse,
  toMemberResponse,
} from './groups.dto.js';
import { GroupsService } from './groups.service.js';

@ApiTags('groups')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/groups')
export class GroupsController {
  constructor(private readonly groups: GroupsService) {}

  @ApiRoute('listGroups', 'Groups, a page at a time')
  @Get()
  @ApiOkResponse({ type: GroupPageResponse })
  async list(@Query() page: PageQuery): Promise<GroupPageResponse> {
    return mapPage(await this.groups.list(page), toGroupResponse);
  }

  @ApiRoute('createGroup', 'Make a group', 'busy', 'name_taken')
  @Post()
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

  @ApiRoute('getGroup', 'One group')
  @Get(':id')
  @ApiOkResponse({ type: GroupResponse })
  async find(@Param('id', RowIdPipe) id: number): Promise<GroupResponse> {
    return toGroupResponse(await this.groups.find(id));
  }

  @ApiRoute('changeGroup', 'Rename or describe a group', 'busy', 'name_taken')
  @Patch(':id')
  @ApiOkResponse({ type: GroupResponse })
  async change(
    @Param('id', RowIdPipe) id: number,
    @Body() body: GroupChangeDto,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<GroupResponse> {
    return toGroupResponse(await this.groups.change(id, toGroupChange(body), by));
  }

  @ApiRoute('deleteGroup', 'Delete a group that no grant and no policy names', 'busy', 'group_in_use')
  @Delete(':id')
  @NoContent()
  delete(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() by: AuditContext): Promise<void> {
    return this.groups.delete(id, by);
  }

  @ApiRoute('listGroupMembers', 'Members of a group, a page at a time')
  @Get(':id/members')
  @ApiOkResponse({ type: MemberPageResponse })
  async members(@Param('id', RowIdPipe) id: number, @Query() page: PageQuery): Promise<MemberPageResponse> {
    return mapPage(await this.groups.members(id, page), toMemberResponse);
  }

  @ApiRoute('addGroupMember', 'Add a member to a group', 'busy', 'rules_too_large', 'rules_unprovable')
  @Put(':id/members/:user_id')
  @NoContent()
  addMember(
    @Param('id', RowIdPipe) id: number,
    @Param('user_id', RowIdPipe) userId: number,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.groups.addMember(id, userId, by);
  }

  @ApiRoute('removeGroupMember', 'Remove a member from a group', 'busy')
  @Delete(':id/members/:user_id')
  @NoContent()
  removeMember(
    @Param('id', RowIdPipe) id: number,
    @Param('user_id', RowIdPipe) userId: number,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.groups.removeMember(id, userId, by);
  }
}
