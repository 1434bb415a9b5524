import { Body, Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Clock } from '../kernel/clock.js';
import { orNotFound } from '../kernel/errors.js';
import { mapPage } from '../kernel/page.js';
import { AdministratorsOnly, CurrentAuditContext, OpenToTokens } from '../platform/http/access.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { Answers, ApiRoute, NoContent } from '../platform/http/openapi.js';
import { RowIdPipe } from '../platform/http/parameters.js';
import { GrantStore } from './grant.store.js';
import {
  GrantBatchDto,
  GrantBatchResponse,
  GrantDto,
  GrantPageResponse,
  GrantQuery,
  GrantResponse,
  toGrantFilter,
  toGrantResponse,
  toNewGrant,
  WRITE_REFUSALS,
} from './grants.dto.js';
import { GrantsService } from './grants.service.js';

@ApiTags('grants')
@AdministratorsOnly()
@Controller('api/admin/grants')
export class GrantsController {
  constructor(
    private readonly grants: GrantsService,
    private readonly store: GrantStore,
    private readonly clock: Clock,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listGrants', 'Grants, a page at a time')
  @Get()
  @Answers(GrantPageResponse)
  async list(@Query() query: GrantQuery): Promise<GrantPageResponse> {
    const now = this.clock.now();
    const page = await this.store.list(toGrantFilter(query), query, now);
    return mapPage(page, (grant) => toGrantResponse(grant, now));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('createGrant', 'Grant privileges on a resource', ...WRITE_REFUSALS)
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiCreatedResponse({ type: GrantResponse })
  @ApiOkResponse({ type: GrantResponse, description: 'An equal live grant exists.' })
  async grant(
    @Body() body: GrantDto,
    @CurrentAuditContext() by: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GrantResponse> {
    const { granted } = await this.grants.change([{ fieldPrefix: '', grant: toNewGrant(body) }], [], by);
    const { grant, created, warnings } = orNotFound(granted[0] ?? null);
    void reply.status(created ? 201 : 200).header('Location', `/api/admin/grants/${grant.id}`);
    return toGrantResponse(grant, this.clock.now(), warnings);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('changeGrants', 'Revoke and grant in one step', ...WRITE_REFUSALS)
  @Post('batch')
  @BodyLimits(ADMINISTRATION)
  @Answers(GrantBatchResponse)
  async batch(@Body() body: GrantBatchDto, @CurrentAuditContext() by: AuditContext): Promise<GrantBatchResponse> {
    const asked = body.grant.map((grant, i) => ({ fieldPrefix: `grant.${i}.`, grant: toNewGrant(grant) }));
    const { granted, revoked } = await this.grants.change(asked, body.revoke, by);
    const now = this.clock.now();
    return {
      granted: granted.map(({ grant, warnings }) => toGrantResponse(grant, now, warnings)),
      revoked: revoked.map((grant) => toGrantResponse(grant, now)),
    };
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getGrant', 'One grant')
  @Get(':id')
  @Answers(GrantResponse)
  async find(@Param('id', RowIdPipe) id: number): Promise<GrantResponse> {
    return toGrantResponse(orNotFound(await this.store.find(id)), this.clock.now());
  }

  @OpenToTokens('admin.write')
  @ApiRoute('revokeGrant', 'Revoke a grant', 'busy')
  @Delete(':id')
  @NoContent('Revoked; the row stays.')
  async revoke(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() by: AuditContext): Promise<void> {
    orNotFound(await this.grants.revoke(id, by));
  }
}
