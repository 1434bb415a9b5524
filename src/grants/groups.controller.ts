import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Put, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { AdministratorsOnly, CurrentAuditContext } from '../platform/access.js';
import { ApiProblems } from '../platform/openapi.js';
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

  @Get()
  @ApiOkResponse({ type: GroupPageResponse })
  async list(@Query() page: PageQuery): Promise<GroupPageResponse> {
    const { items, next } = await this.groups.list(page);
    return { items: items.map(toGroupResponse), next };
  }

  @ApiProblems('busy', 'name_taken')
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

  @Get(':id')
  @ApiOkResponse({ type: GroupResponse })
  async find(@Param('id', RowIdPipe) id: number): Promise<GroupResponse> {
    return toGroupResponse(await this.groups.find(id));
  }

  @ApiProblems('busy', 'name_taken')
  @Patch(':id')
  @ApiOkResponse({ type: GroupResponse })
  async change(
    @Param('id', RowIdPipe) id: number,
    @Body() body: GroupChangeDto,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<GroupResponse> {
    return toGroupResponse(await this.groups.change(id, toGroupChange(body), by));
  }

  @ApiProblems('busy', 'group_in_use')
  @Delete(':id')
  @HttpCode(204)
  @ApiNoContentResponse()
  @ApiProblems('busy')
  delete(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() by: AuditContext): Promise<void> {
    return this.groups.delete(id, by);
  }

  @Get(':id/members')
  @ApiOkResponse({ type: MemberPageResponse })
  async members(@Param('id', RowIdPipe) id: number, @Query() page: PageQuery): Promise<MemberPageResponse> {
    const { items, next } = await this.groups.members(id, page);
    return { items: items.map(toMemberResponse), next };
  }

  @Put(':id/members/:user_id')
  @HttpCode(204)
  @ApiNoContentResponse()
  @ApiProblems('busy', 'rules_too_large', 'rules_unprovable')
  addMember(
    @Param('id', RowIdPipe) id: number,
    @Param('user_id', RowIdPipe) userId: number,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.groups.addMember(id, userId, by);
  }

  @Delete(':id/members/:user_id')
  @HttpCode(204)
  @ApiNoContentResponse()
  @ApiProblems('busy')
  removeMember(
    @Param('id', RowIdPipe) id: number,
    @Param('user_id', RowIdPipe) userId: number,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.groups.removeMember(id, userId, by);
  }
}
