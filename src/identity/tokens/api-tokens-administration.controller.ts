import { Controller, Delete, Get, Param } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { AuditContext } from '../../audit/domain/audit-event.js';
import { found, Refused } from '../../kernel/errors.js';
import { AdministratorsOnly, CurrentAuditContext, OpenToTokens } from '../../platform/access.js';
import { ApiRoute, NoContent } from '../../platform/openapi.js';
import { RowIdPipe } from '../../platform/row-id.pipe.js';
import { ApiTokenList, toApiTokenList } from './api-tokens.dto.js';
import { ApiTokensService } from './api-tokens.service.js';

@ApiTags('users')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/users/:id/tokens')
export class ApiTokensAdministrationController {
  constructor(private readonly tokens: ApiTokensService) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listUserTokens', 'API tokens of an account, newest first')
  @Get()
  @ApiOkResponse({ type: ApiTokenList })
  async list(@Param('id', RowIdPipe) id: number): Promise<ApiTokenList> {
    return toApiTokenList(found(await this.tokens.listOfAccount(id)));
  }

  @ApiRoute('revokeUserToken', 'Revoke an API token of an account')
  @Delete(':token')
  @NoContent()
  async revoke(
    @Param('id', RowIdPipe) id: number,
    @Param('token') token: string,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    if (!(await this.tokens.revoke(id, token, by))) throw new Refused('not_found');
  }
}
