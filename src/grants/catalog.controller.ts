import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import {
  AdministratorsOnly,
  type AuthenticatedUser,
  CurrentUser,
  OpenToTokens,
  UntilClientGone,
} from '../platform/http/access.js';
import { Compressed } from '../platform/http/compression.js';
import { ApiRoute } from '../platform/http/openapi.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import {
  AnyChildrenResponse,
  ChildrenQuery,
  ChildrenResponse,
  FoundTablesResponse,
  TablesQuery,
  toAnyChildren,
  toChildrenRequest,
  toFoundTables,
  toOwnChildren,
} from './catalog.dto.js';
import { CatalogService } from './catalog.service.js';

/** The tree of the data, as it is for the caller. */
@ApiTags('catalog')
@ApiBearerAuth('access-token')
@Controller('api/catalog')
export class CatalogController {
  constructor(private readonly catalog: CatalogService) {}

  @OpenToTokens('access.read')
  @ApiRoute('listOwnCatalog', 'Catalogs, schemas or tables that the engine shows the caller', 'too_many_requests')
  @CountsWork()
  @Compressed()
  @Get()
  @ApiOkResponse({ type: ChildrenResponse })
  async children(
    @Query() query: ChildrenQuery,
    @CurrentUser() user: AuthenticatedUser,
    @UntilClientGone() signal: AbortSignal,
  ): Promise<ChildrenResponse> {
    return toOwnChildren(await this.catalog.ownChildren(user, toChildrenRequest(query), signal), query.limit);
  }
}

/** The tree of the data, as grants, policies and the engine know it. */
@ApiTags('catalog')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/catalog')
export class CatalogAdministrationController {
  constructor(private readonly catalog: CatalogService) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listCatalog', 'Catalogs, schemas or tables that grants, policies or the engine name')
  @Compressed()
  @Get()
  @ApiOkResponse({ type: AnyChildrenResponse })
  async children(@Query() query: ChildrenQuery, @UntilClientGone() signal: AbortSignal): Promise<AnyChildrenResponse> {
    return toAnyChildren(await this.catalog.children(toChildrenRequest(query), signal), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('searchTables', 'Tables of a catalog by a part of their name, of whichever schema')
  @Get('tables')
  @ApiOkResponse({ type: FoundTablesResponse })
  async tables(
    @Query() { catalog, q, limit }: TablesQuery,
    @UntilClientGone() signal: AbortSignal,
  ): Promise<FoundTablesResponse> {
    return toFoundTables(await this.catalog.tables({ catalog, q: q.toLowerCase(), limit }, signal));
  }
}
