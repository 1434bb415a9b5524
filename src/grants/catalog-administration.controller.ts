import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { AdministratorsOnly, OpenToTokens, UntilClientGone } from '../platform/access.js';
import { Compressed } from '../platform/http/compression.js';
import { ApiRoute } from '../platform/openapi.js';
import {
  AnyChildrenResponse,
  ChildrenQuery,
  FoundTablesResponse,
  TablesQuery,
  toAnyChildren,
  toChildrenRequest,
  toFoundTables,
} from './catalog.dto.js';
import { CatalogService } from './catalog.service.js';

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
