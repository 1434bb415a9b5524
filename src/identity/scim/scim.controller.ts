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

// Routes of RFC 7644 section 3. `Public` switches off the guard for sessions; ScimGuard requires a token for SCIM instead.

@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2/Users')
export class ScimUsersController {
  constructor(
    private readonly users: ScimUsersService,
    private readonly userStore: ScimUserStore,
  ) {}

  @Get()
  async list(@CurrentScimRequest() { parameters, selection, baseUrl }: ScimRequest): Promise<object> {
    const listRequest = listRequestOf(parameters);
    const { total, resources } = await this.userStore.list(listRequest);
    const forms = resources.map((user) => selectAttributes(userForm(user, baseUrl), selection));
    return listForm(forms, total, listRequest.offset);
  }

  @Post()
  @ScimBody()
  async create(@CurrentScimRequest() request: ScimRequest): Promise<object | undefined> {
    const { body, context, baseUrl } = request;
    return request.answer(userForm(await this.users.create(body, context), baseUrl), 201);
  }

  @Get(':id')
  async find(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    return request.answer(userForm(await this.users.find(id), request.baseUrl));
  }

  @Put(':id')
  @ScimBody()
  async replace(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    const { body, context, baseUrl } = request;
    const changeUser = ({ active }: ScimUser): UserAttributes => userOfBody(body, { id: String(id), active });
    const user = await this.users.change(id, request.versionCheck(userForm), context, changeUser);
    return request.answer(userForm(user, baseUrl));
  }

  @Patch(':id')
  @ScimBody()
  async patch(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    const { body, context, baseUrl } = request;
    const operations = operationsOf(body);
    const changeUser = (user: ScimUser): UserAttributes => patchUser(user, String(id), operations);
    const user = await this.users.change(id, request.versionCheck(userForm), context, changeUser);
    return request.answer(userForm(user, baseUrl));
  }

  @Delete(':id')
  @HttpCode(204)
  delete(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<void> {
    return this.users.delete(id, request.versionCheck(userForm), request.context);
  }
}

@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2/Groups')
export class ScimGroupsController {
  constructor(
    private readonly groups: ScimGroupsService,
    private readonly groupStore: ScimGroupStore,
  ) {}

  @Get()
  async list(@CurrentScimRequest() { parameters, selection, baseUrl }: ScimRequest): Promise<object> {
    const listRequest = listRequestOf(parameters);
    const { total, resources } = await this.groupStore.list(listRequest, isSelected(selection, 'members'));
    const forms = resources.map((group) => selectAttributes(groupForm(group, baseUrl), selection));
    return listForm(forms, total, listRequest.offset);
  }

  @Post()
  @ScimBody()
  async create(@CurrentScimRequest() request: ScimRequest): Promise<object | undefined> {
    return this.answerGroup(await this.groups.create(request.body, request.context), request, 201);
  }

  @Get(':id')
  find(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<object | undefined> {
    return this.answerGroup(id, request);
  }

  @Put(':id')
  @ScimBody()
  async replace(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    const changes = changesByBody(request.body, String(id));
    await this.groups.change(id, changes, request.versionCheck(groupForm), request.context);
    return this.answerGroup(id, request);
  }

  /** Changes a group. The answer has no body unless the request selects attributes (section 3.5.2): the body would list all members. */
  @Patch(':id')
  @ScimBody()
  async patch(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest) {
    const changes = changesByPatch(operationsOf(request.body), String(id));
    await this.groups.change(id, changes, request.versionCheck(groupForm), request.context);
    if (request.selection.includedPaths !== null) return this.answerGroup(id, request);
    request.answerNoContent(groupForm(await this.groups.find(id, false), request.baseUrl));
    return undefined;
  }

  @Delete(':id')
  @HttpCode(204)
  delete(@Param('id', RowIdPipe) id: number, @CurrentScimRequest() request: ScimRequest): Promise<void> {
    return this.groups.delete(id, request.versionCheck(groupForm), request.context);
  }

  private async answerGroup(id: number, request: ScimRequest, status: 200 | 201 = 200): Promise<object | undefined> {
    const group = await this.groups.find(id, isSelected(request.selection, 'members'));
    return request.answer(groupForm(group, request.baseUrl), status);
  }
}

/** Discovery (RFC 7644 section 4), and the refusal of searches by POST. */
@ApiExcludeController()
@Public()
@UseGuards(ScimGuard)
@Controller('api/scim/v2')
export class ScimDiscoveryController {
  @Get('ServiceProviderConfig')
  providerConfig(@CurrentScimRequest() { baseUrl }: ScimRequest): object {
    return serviceProviderConfig(baseUrl);
  }

  @Get('Schemas')
  schemas(@CurrentScimRequest() { baseUrl }: ScimRequest): object {
    return wholeListForm(schemas(baseUrl));
  }

  @Get('Schemas/:id')
  schema(@Param('id') id: string, @CurrentScimRequest() { baseUrl }: ScimRequest): object {
    return orNotFound(schemas(baseUrl).find((schema) => schema.id === id) ?? null);
  }

  @Get('ResourceTypes')
  resourceTypes(@CurrentScimRequest() { baseUrl }: ScimRequest): object {
    return wholeListForm(resourceTypes(baseUrl));
  }

  @Get('ResourceTypes/:id')
  resourceType(@Param('id') id: string, @CurrentScimRequest() { baseUrl }: ScimRequest): object {
    return orNotFound(resourceTypes(baseUrl).find((type) => type.id === id) ?? null);
  }

  @Post(['.search', 'Users/.search', 'Groups/.search'])
  search(): never {
    throw new Refused('not_implemented', { detail: 'Searches are requests by GET with a filter.' });
  }
}

function wholeListForm(resources: readonly object[]): object {
  return listForm(resources, resources.length, 0);
}
