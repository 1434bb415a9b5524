import { Controller, Delete, Param } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { AdministratorsOnly, CurrentAuditContext } from '../platform/http/access.js';
import { ApiRoute, NoContent } from '../platform/http/openapi.js';
import { RowIdPipe } from '../platform/http/row-id.pipe.js';
import { FormerNamesService } from './former-names.service.js';

@ApiTags('users')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/users/:id/former-names')
export class FormerNamesController {
  constructor(private readonly names: FormerNamesService) {}

  @ApiRoute('freeName', 'Free a name that an account was renamed away from', 'name_in_use')
  @Delete(':name')
  @NoContent(
    'Anybody can have the name now. The audit trail and ended grants stay with the account; views on the engine that the name owns, and older versions of the rules that are restored, follow the name.',
  )
  async free(
    @Param('id', RowIdPipe) id: number,
    @Param('name') name: string,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    await this.names.free(id, name, by);
  }
}
