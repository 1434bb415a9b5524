import { Readable } from 'node:stream';
import { Controller, Get, Query, StreamableFile } from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { CSV_TYPE, csvLineForPeople } from '../kernel/csv.js';
import { mapPage } from '../kernel/page.js';
import { AdministratorsOnly, OpenToTokens } from '../platform/http/access.js';
import { ApiRoute } from '../platform/http/openapi.js';
import { AUDIT_COLUMNS, AuditPage, AuditQuery, toAuditEventResponse, toAuditRow, toFilter } from './audit.dto.js';
import { AuditService } from './audit.service.js';
import type { AuditFilter } from './domain/audit-event.js';

const LIST_CONTENT = {
  'application/json': { schema: { $ref: getSchemaPath(AuditPage) } },
  'text/csv': {
    schema: {
      type: 'string',
      description:
        'CSV (RFC 4180) with a header row; `details` holds JSON. A value that a spreadsheet would run as a formula gets a leading apostrophe.',
    },
  },
};

@ApiTags('audit')
@ApiExtraModels(AuditPage)
@AdministratorsOnly()
@Controller('api/admin/audit')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listAuditEvents', 'The audit trail, newest first')
  @Get()
  @ApiOkResponse({ content: LIST_CONTENT })
  async list(@Query() query: AuditQuery): Promise<AuditPage | StreamableFile> {
    const filter = toFilter(query);
    if (query.format === undefined) return mapPage(await this.audit.page(filter, query), toAuditEventResponse);
    const fileOptions = { type: CSV_TYPE, disposition: 'attachment; filename="audit.csv"' };
    return new StreamableFile(Readable.from(this.csvLines(filter)), fileOptions);
  }

  private async *csvLines(filter: AuditFilter): AsyncGenerator<string, void, undefined> {
    yield csvLineForPeople(AUDIT_COLUMNS);
    for await (const events of this.audit.readAll(filter)) {
      yield events.map((event) => csvLineForPeople(toAuditRow(event))).join('');
    }
  }
}
