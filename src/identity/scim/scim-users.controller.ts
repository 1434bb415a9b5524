import { Controller, Delete, Get, HttpCode, Param, Patch, Post, Put, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../../platform/access.js';
import { RowIdPipe } from '../../platform/row-id.pipe.js';
import { listForm, listRequestOf } from './domain/list-request.js';
import { userForm } from './domain/resource-form.js';
import { selected } from './domain/selection.js';
import { CurrentScimRequest, ScimBody, type ScimRequest, versionCheck } from './scim-request.js';
import { ScimGuard } from './scim.guard.js';
import { ScimUsersService } from './scim-users.service.js';

/** RFC 7644 section 3. What is Public here is open to the token of SCIM alone. */
@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2/Users')
export class ScimUsersController {
  constructor(private readonly users: ScimUsersService) {}

  @Get()
  async list(@CurrentScimRequest() { parameters, base }: ScimRequest): Promise<object> {
    const request = listRequestOf(parameters);
    const { total, resources } = await this.users.list(request);
    const forms = resources.map((user) => selected(userForm(user, base), request.selection));
    return listForm(forms, total, request.offset);
  }

  @Post()
  @ScimBody()
  async create(@CurrentScimRequest() { body, by, base, answer }: ScimRequest): Promise<object | undefined> {
    return answer(userForm(await this.users.create(body, by), base), 201);
  }

  @Get(':id')
  async find(
    @Param('id', RowIdPipe) id: number,
    @CurrentScimRequest() { base, answer }: ScimRequest,
  ): Promise<object | undefined> {
    return answer(userForm(await this.users.find(id), base));
  }

  @Put(':id')
  @ScimBody()
  async replace(
    @Param('id', RowIdPipe) id: number,
    @CurrentScimRequest() request: ScimRequest,
  ): Promise<object | undefined> {
    const { body, by, base, answer } = request;
    return answer(userForm(await this.users.replace(id, body, versionCheck(request, userForm), by), base));
  }

  @Patch(':id')
  @ScimBody()
  async patch(
    @Param('id', RowIdPipe) id: number,
    @CurrentScimRequest() request: ScimRequest,
  ): Promise<object | undefined> {
    const { body, by, base, answer } = request;
    return answer(userForm(await this.users.patch(id, body, versionCheck(request, userForm), by), base));
  }

  @Delete(':id')
  @HttpCode(204)
  delete(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<void> {
    return this.users.delete(id, versionCheck(request, userForm), request.by);
  }
}
