import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { mapPage } from '../kernel/page.js';
import { AdministratorsOnly, OpenToTokens } from '../platform/access.js';
import { ApiRoute } from '../platform/openapi.js';
import { AuditPage, AuditQuery, toAuditEventResponse, toFilter } from './audit.dto.js';
import { AuditService } from './audit.service.js';

@ApiTags('audit')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  /** Newest first. */
  @OpenToTokens('admin.read')
  @ApiRoute('listAuditEvents', 'The audit trail, newest first')
  @Get()
  @ApiOkResponse({ type: AuditPage })
  async list(@Query() query: AuditQuery): Promise<AuditPage> {
    return mapPage(await this.audit.page(toFilter(query), query), toAuditEventResponse);
  }
}
