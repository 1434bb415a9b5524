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
import { AcceptsIfMatch, ETAG_ANSWER, WRITE_REFUSALS } from './grants.dto.js';
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
    private readonly policyStore: PolicyStore,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listPolicies', 'Policies, a page at a time')
  @Get()
  @Answers(PolicyPageResponse)
  async list(@Query() query: EntryQuery): Promise<PolicyPageResponse> {
    const page = await this.policyStore.list(toEntryFilter(query), query);
    return mapPage(page, (policy) => toPolicyResponse(policy));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('createPolicy', 'Make a row filter, a mask, a hidden column or a deny', 'mask_conflict', ...WRITE_REFUSALS)
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiCreatedResponse({ type: PolicyResponse, ...ETAG_ANSWER })
  async create(
    @Body() body: PolicyDto,
    @CurrentAuditContext() context: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PolicyResponse> {
    const { policy, warnings } = await this.policies.create(toNewPolicy(body), context);
    void reply.headers({ Location: `/api/admin/policies/${policy.id}`, ETag: policyVersion(policy) });
    return toPolicyResponse(policy, warnings);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getPolicy', 'One policy')
  @Get(':id')
  @ApiOkResponse({ type: PolicyResponse, ...ETAG_ANSWER })
  async find(
    @Param('id', RowIdPipe) id: number,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PolicyResponse> {
    const policy = orNotFound(await this.policyStore.find(id));
    void reply.header('ETag', policyVersion(policy));
    return toPolicyResponse(policy);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('replacePolicy', 'Replace a policy', 'mask_conflict', 'precondition_failed', ...WRITE_REFUSALS)
  @Put(':id')
  @BodyLimits(ADMINISTRATION)
  @AcceptsIfMatch()
  @ApiOkResponse({ type: PolicyResponse, description: 'Changed in one step.', ...ETAG_ANSWER })
  async replace(
    @Param('id', RowIdPipe) id: number,
    @Body() body: PolicyDto,
    @CurrentAuditContext() context: AuditContext,
    @Headers('if-match') ifMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<PolicyResponse> {
    const { policy, warnings } = await this.policies.replace(id, toNewPolicy(body), context, ifMatch ?? null);
    void reply.header('ETag', policyVersion(policy));
    return toPolicyResponse(policy, warnings);
  }

  @OpenToTokens('admin.write')
  @ApiRoute('deletePolicy', 'Delete a policy', 'busy', 'precondition_failed', 'guarantee_broken')
  @Delete(':id')
  @AcceptsIfMatch()
  @NoContent()
  remove(
    @Param('id', RowIdPipe) id: number,
    @CurrentAuditContext() context: AuditContext,
    @Headers('if-match') ifMatch: string | undefined,
  ): Promise<void> {
    return this.policies.remove(id, context, ifMatch ?? null);
  }
}
