import { Controller, Delete, Get, HttpCode, Param, Patch, Post, Put, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { orNotFound, Refused } from '../../kernel/errors.js';
import { Public } from '../../platform/http/access.js';
import { RowIdPipe } from '../../platform/http/parameters.js';
import { changesByPatch, changesByBody } from './domain/group-changes.js';
import { listForm, listRequestOf, selectAttributes, isSelected } from './domain/list-request.js';
import { operationsOf } from './domain/patch.js';
import { groupForm, resourceTypes, schemas, serviceProviderConfig, userForm } from './domain/resources.js';
import { patchUser, type ScimUser, type UserAttributes, userOfBody } from './domain/user-attributes.js';
import { CurrentScimRequest, ScimBody, ScimGuard, type ScimRequest } from './scim-request.js';
import { ScimGroupsService, ScimUsersService } from './scim.service.js';
import { ScimGroupStore, ScimUserStore } from './scim.store.js';

// RFC 7644 section 3. `Public` skips the session guard here; ScimGuard demands SCIM's token.

@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2/Users')
export class ScimUsersController {
  constructor(
    private readonly users: ScimUsersService,
    private readonly store: ScimUserStore,
  ) {}

  @Get()
  async list(@CurrentScimRequest() { parameters, base }: ScimRequest): Promise<object> {
    const request = listRequestOf(parameters);
    const { total, resources } = await this.store.list(request);
    const forms = resources.map((user) => selectAttributes(userForm(user, base), request.selection));
    return listForm(forms, total, request.offset);
  }

  @Post()
  @ScimBody()
  async create(@CurrentScimRequest() request: ScimRequest): Promise<object | undefined> {
    const { body, by, base } = request;
    return request.answer(userForm(await this.users.create(body, by), base), 201);
  }

  @Get(':id')
  async find(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    return request.answer(userForm(await this.users.find(id), request.base));
  }

  @Put(':id')
  @ScimBody()
  async replace(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    const { body, by, base } = request;
    const next = ({ active }: ScimUser): UserAttributes => userOfBody(body, { id: String(id), active });
    return request.answer(userForm(await this.users.change(id, request.versionCheck(userForm), by, next), base));
  }

  @Patch(':id')
  @ScimBody()
  async patch(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    const { body, by, base } = request;
    const operations = operationsOf(body);
    const next = (user: ScimUser): UserAttributes => patchUser(user, String(id), operations);
    return request.answer(userForm(await this.users.change(id, request.versionCheck(userForm), by, next), base));
  }

  @Delete(':id')
  @HttpCode(204)
  delete(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<void> {
    return this.users.delete(id, request.versionCheck(userForm), request.by);
  }
}

@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2/Groups')
export class ScimGroupsController {
  constructor(
    private readonly groups: ScimGroupsService,
    private readonly store: ScimGroupStore,
  ) {}

  @Get()
  async list(@CurrentScimRequest() { parameters, base }: ScimRequest): Promise<object> {
    const request = listRequestOf(parameters);
    const { total, resources } = await this.store.list(request, isSelected(request.selection, 'members'));
    const forms = resources.map((group) => selectAttributes(groupForm(group, base), request.selection));
    return listForm(forms, total, request.offset);
  }

  @Post()
  @ScimBody()
  async create(@CurrentScimRequest() request: ScimRequest): Promise<object | undefined> {
    return this.answerGroup(await this.groups.create(request.body, request.by), request, 201);
  }

  @Get(':id')
  find(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<object | undefined> {
    return this.answerGroup(id, request);
  }

  @Put(':id')
  @ScimBody()
  async replace(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    const changes = changesByBody(request.body, String(id));
    await this.groups.change(id, changes, request.versionCheck(groupForm), request.by);
    return this.answerGroup(id, request);
  }

  /** Answers without a body, which would contain all members, unless the request selects attributes (section 3.5.2). */
  @Patch(':id')
  @ScimBody()
  async patch(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    const changes = changesByPatch(operationsOf(request.body), String(id));
    await this.groups.change(id, changes, request.versionCheck(groupForm), request.by);
    if (request.selection.only !== null) return this.answerGroup(id, request);
    request.answerNoContent(groupForm(await this.groups.find(id, false), request.base));
    return undefined;
  }

  @Delete(':id')
  @HttpCode(204)
  delete(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<void> {
    return this.groups.delete(id, request.versionCheck(groupForm), request.by);
  }

  private async answerGroup(id: number, request: ScimRequest, status: 200 | 201 = 200): Promise<object | undefined> {
    const group = await this.groups.find(id, isSelected(request.selection, 'members'));
    return request.answer(groupForm(group, request.base), status);
  }
}

/** Discovery (RFC 7644 section 4), and the refusal of searches by POST. */
@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2')
export class ScimDiscoveryController {
  @Get('ServiceProviderConfig')
  config(@CurrentScimRequest() { base }: ScimRequest): object {
    return serviceProviderConfig(base);
  }

  @Get('Schemas')
  schemas(@CurrentScimRequest() { base }: ScimRequest): object {
    return wholeList(schemas(base));
  }

  @Get('Schemas/:id')
  schema(@Param('id') id: string, @CurrentScimRequest() { base }: ScimRequest): object {
    return orNotFound(schemas(base).find((schema) => schema.id === id) ?? null);
  }

  @Get('ResourceTypes')
  resourceTypes(@CurrentScimRequest() { base }: ScimRequest): object {
    return wholeList(resourceTypes(base));
  }

  @Get('ResourceTypes/:id')
  resourceType(@Param('id') id: string, @CurrentScimRequest() { base }: ScimRequest): object {
    return orNotFound(resourceTypes(base).find((type) => type.id === id) ?? null);
  }

  @Post(['.search', 'Users/.search', 'Groups/.search'])
  search(): never {
    throw new Refused('not_implemented', { detail: 'Searches are requests by GET with a filter.' });
  }
}

function wholeList(resources: readonly object[]): object {
  return listForm(resources, resources.length, 0);
}
