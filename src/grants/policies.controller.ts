import { Body, Controller, Delete, Get, Headers, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { orNotFound } from '../kernel/errors.js';
import { mapPage } from '../kernel/page.js';
import { AdministratorsOnly, CurrentAuditContext, OpenToTokens } from '../platform/http/access.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { Answers, ApiRoute, NoContent } from '../platform/http/openapi.js';
import { RowIdPipe } from '../platform/http/parameters.js';
import { EntryQuery, toEntryFilter } from './resource.dto.js';
import { Conditional, VERSION, WRITE_REFUSALS } from './grants.dto.js';
import { PolicyDto, PolicyPageResponse, PolicyResponse, toNewPolicy, toPolicyResponse } from './policies.dto.js';
import { policyVersion } from './domain/policy.js';
import { PoliciesService } from './policies.service.js';
import { PolicyStore } from './policy.store.js';

@ApiTags('policies')
@AdministratorsOnly()
@Controller('api/admin/policies')
export class PoliciesController {
  constructor(
    private readonly policies: PoliciesService,
    private readonly store: PolicyStore,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listPolicies', 'Policies, a page at a time')
  @Get()
  @Answers(PolicyPageResponse)
  async list(@Query() query: EntryQuery): Promise<PolicyPageResponse> {
    const page = await this.store.list(toEntryFilter(query), query);
    return mapPage(page, (policy) => toPolicyResponse(policy));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('createPolicy', 'Make a row filter, a mask, a hidden column or a deny', 'mask_conflict', ...WRITE_REFUSALS)
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiCreatedResponse({ type: PolicyResponse })
  async create(
    @Body() body: PolicyDto,
    @CurrentAuditContext() by: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PolicyResponse> {
    const { policy, warnings } = await this.policies.create(toNewPolicy(body), by);
    void reply.header('Location', `/api/admin/policies/${policy.id}`);
    return toPolicyResponse(policy, warnings);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getPolicy', 'One policy')
  @Get(':id')
  @ApiOkResponse({ type: PolicyResponse, ...VERSION })
  async find(
    @Param('id', RowIdPipe) id: number,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PolicyResponse> {
    const policy = orNotFound(await this.store.find(id));
    void reply.header('ETag', policyVersion(policy));
    return toPolicyResponse(policy);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('replacePolicy', 'Replace a policy', 'mask_conflict', 'precondition_failed', ...WRITE_REFUSALS)
  @Put(':id')
  @BodyLimits(ADMINISTRATION)
  @Conditional()
  @ApiOkResponse({ type: PolicyResponse, description: 'Changed in one step.', ...VERSION })
  async replace(
    @Param('id', RowIdPipe) id: number,
    @Body() body: PolicyDto,
    @CurrentAuditContext() by: AuditContext,
    @Headers('if-match') ifMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PolicyResponse> {
    const { policy, warnings } = await this.policies.replace(id, toNewPolicy(body), by, ifMatch ?? null);
    void reply.header('ETag', policyVersion(policy));
    return toPolicyResponse(policy, warnings);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('deletePolicy', 'Delete a policy', 'busy', 'precondition_failed', 'guarantee_broken')
  @Delete(':id')
  @Conditional()
  @NoContent()
  remove(
    @Param('id', RowIdPipe) id: number,
    @CurrentAuditContext() by: AuditContext,
    @Headers('if-match') ifMatch: string | undefined,
  ): Promise<void> {
    return this.policies.remove(id, by, ifMatch ?? null);
  }
}
