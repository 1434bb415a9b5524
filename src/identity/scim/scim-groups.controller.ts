import { Controller, Delete, Get, HttpCode, Param, Patch, Post, Put, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../../platform/access.js';
import { RowIdPipe } from '../../platform/row-id.pipe.js';
import { listForm, listRequestOf } from './domain/list-request.js';
import { groupForm } from './domain/resource-form.js';
import { selected, wants } from './domain/selection.js';
import { CurrentScimRequest, ScimBody, type ScimRequest, versionCheck } from './scim-request.js';
import { ScimGroupsService } from './scim-groups.service.js';
import { ScimGuard } from './scim.guard.js';

/** RFC 7644 section 3. What is Public here is open to the token of SCIM alone. */
@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2/Groups')
export class ScimGroupsController {
  constructor(private readonly groups: ScimGroupsService) {}

  @Get()
  async list(@CurrentScimRequest() { parameters, base }: ScimRequest): Promise<object> {
    const request = listRequestOf(parameters);
    const { total, resources } = await this.groups.list(request);
    const forms = resources.map((group) => selected(groupForm(group, base), request.selection));
    return listForm(forms, total, request.offset);
  }

  @Post()
  @ScimBody()
  async create(@CurrentScimRequest() request: ScimRequest): Promise<object | undefined> {
    return this.answered(await this.groups.create(request.body, request.by), request, 201);
  }

  @Get(':id')
  find(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<object | undefined> {
    return this.answered(id, request);
  }

  @Put(':id')
  @ScimBody()
  async replace(
    @Param('id', RowIdPipe) id: number,
    @CurrentScimRequest() request: ScimRequest,
  ): Promise<object | undefined> {
    await this.groups.replace(id, request.body, versionCheck(request, groupForm), request.by);
    return this.answered(id, request);
  }

  /** Answered without a body, which would hold all members for a change of one, unless attributes are asked for (section 3.5.2). */
  @Patch(':id')
  @ScimBody()
  async patch(
    @Param('id', RowIdPipe) id: number,
    @CurrentScimRequest() request: ScimRequest,
  ): Promise<object | undefined> {
    await this.groups.patch(id, request.body, versionCheck(request, groupForm), request.by);
    if (request.selection.only !== null) return this.answered(id, request);
    request.answerNothing(groupForm(await this.groups.find(id, false), request.base));
    return undefined;
  }

  @Delete(':id')
  @HttpCode(204)
  delete(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<void> {
    return this.groups.delete(id, versionCheck(request, groupForm), request.by);
  }

  private async answered(id: number, request: ScimRequest, status: 200 | 201 = 200): Promise<object | undefined> {
    const { base, selection, answer } = request;
    return answer(groupForm(await this.groups.find(id, wants(selection, 'members')), base), status);
  }
}
