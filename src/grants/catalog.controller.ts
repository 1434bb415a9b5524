import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { type AuthenticatedUser, CurrentUser, OpenToTokens, UntilClientGone } from '../platform/access.js';
import { Compressed } from '../platform/http/compression.js';
import { ApiRoute } from '../platform/openapi.js';
import { CountsWork } from '../platform/http/work.guard.js';
import { ChildrenQuery, ChildrenResponse, toChildrenRequest, toOwnChildren } from './catalog.dto.js';
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
