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
import { GrantUseStore } from './grant-use.store.js';

@ApiTags('grants')
@AdministratorsOnly()
@Controller('api/admin/grants')
export class GrantsController {
  constructor(
    private readonly grants: GrantsService,
    private readonly grantStore: GrantStore,
    private readonly grantUses: GrantUseStore,
    private readonly clock: Clock,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listGrants', 'Grants, a page at a time')
  @Get()
  @Answers(GrantPageResponse)
  async list(@Query() query: GrantQuery): Promise<GrantPageResponse> {
    const now = this.clock.now();
    const page = await this.grantStore.list(toGrantFilter(query), query, now);
    const unusedSince = await this.grantUses.unusedSince(page.items);
    return mapPage(page, (grant) => toGrantResponse(grant, now, [], unusedSince.get(grant.id)));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('createGrant', 'Grant privileges on a resource', ...WRITE_REFUSALS)
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiCreatedResponse({ type: GrantResponse })
  @ApiOkResponse({ type: GrantResponse, description: 'An equal live grant exists.' })
  async createGrant(
    @Body() body: GrantDto,
    @CurrentAuditContext() context: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GrantResponse> {
    const { grantResults } = await this.grants.change([{ fieldPrefix: '', grant: toNewGrant(body) }], [], context);
    const { grant, isNew, warnings } = orNotFound(grantResults[0] ?? null);
    void reply.status(isNew ? 201 : 200).header('Location', `/api/admin/grants/${grant.id}`);
    return toGrantResponse(grant, this.clock.now(), warnings);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('changeGrants', 'Revoke and grant in one step', ...WRITE_REFUSALS)
  @Post('batch')
  @BodyLimits(ADMINISTRATION)
  @Answers(GrantBatchResponse)
  async change(@Body() body: GrantBatchDto, @CurrentAuditContext() context: AuditContext): Promise<GrantBatchResponse> {
    const requests = body.grant.map((grant, i) => ({ fieldPrefix: `grant.${i}.`, grant: toNewGrant(grant) }));
    const { grantResults, revokedGrants } = await this.grants.change(requests, body.revoke, context);
    const now = this.clock.now();
    return {
      granted: grantResults.map(({ grant, warnings }) => toGrantResponse(grant, now, warnings)),
      revoked: revokedGrants.map((grant) => toGrantResponse(grant, now)),
    };
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getGrant', 'One grant')
  @Get(':id')
  @Answers(GrantResponse)
  async find(@Param('id', RowIdPipe) id: number): Promise<GrantResponse> {
    const grant = orNotFound(await this.grantStore.find(id));
    return toGrantResponse(grant, this.clock.now(), [], (await this.grantUses.unusedSince([grant])).get(id));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('revokeGrant', 'Revoke a grant', 'busy')
  @Delete(':id')
  @NoContent('Revoked; the row stays.')
  async revoke(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() context: AuditContext): Promise<void> {
    orNotFound(await this.grants.revoke(id, context));
  }
}
