import { Body, Controller, Get, HttpCode, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags, ApiUnprocessableEntityResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { AdministratorsOnly, CurrentAuditContext, OpenToTokens } from '../platform/http/access.js';
import { BodyLimits, BULK } from '../platform/http/body-limits.js';
import { ApiRoute } from '../platform/http/openapi.js';
import { CountsWork } from '../platform/http/work.guard.js';
import { appliedForm, SnapshotFilesService } from './snapshot-files.service.js';
import { AppliedResponse, SnapshotDto, SnapshotResponse } from './snapshot.dto.js';

/** All recorded access as one snapshot: what `snapshot export` and `snapshot apply` do, without the database's password. */
@ApiTags('grants')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/snapshot')
export class SnapshotController {
  constructor(private readonly files: SnapshotFilesService) {}

  @OpenToTokens('admin.read')
  @ApiRoute('exportSnapshot', 'What is live, by name, as a snapshot', 'too_many_requests')
  @CountsWork()
  @Get()
  @ApiOkResponse({ type: SnapshotResponse })
  export(): Promise<SnapshotResponse> {
    return this.files.export();
  }

  @OpenToTokens('admin.write')
  @ApiRoute('applySnapshot', 'Make what is recorded equal to a snapshot', 'busy', 'too_many_requests')
  @CountsWork()
  @Post()
  @BodyLimits(BULK)
  @HttpCode(200)
  @ApiOkResponse({ type: AppliedResponse })
  @ApiUnprocessableEntityResponse({
    type: AppliedResponse,
    description: 'Refused, with all places; nothing is changed',
  })
  async apply(
    @Body() { snapshot, dry_run, prune }: SnapshotDto,
    @CurrentAuditContext() by: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<AppliedResponse> {
    const applied = await this.files.apply(snapshot, { dryRun: dry_run, prune }, by);
    if (applied.kind === 'refused') void reply.status(422);
    return appliedForm(applied);
  }
}
