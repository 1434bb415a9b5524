import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { requireRecentProof } from '../auth/domain/session.js';
import { Clock } from '../kernel/clock.js';
import { orNotFound } from '../kernel/errors.js';
import { mapPage } from '../kernel/page.js';
import {
  AdministratorsOnly,
  type AuthenticatedUser,
  CurrentAuditContext,
  CurrentUser,
  OpenToTokens,
} from '../platform/http/access.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { ApiRoute, NoContent } from '../platform/http/openapi.js';
import { PageQuery } from '../platform/http/page.dto.js';
import { RowIdPipe } from '../platform/http/parameters.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import { Settings } from '../platform/settings/settings.js';
import { AcceptsIfMatch, ETAG_ANSWER } from './grants.dto.js';
import {
  GuaranteeCheckDto,
  GuaranteeCheckResponse,
  GuaranteeDto,
  GuaranteePageResponse,
  GuaranteeResponse,
  toCheckedResponse,
  toGuaranteeResponse,
} from './guarantees.dto.js';
import { GuaranteeStore } from './guarantee.store.js';
import { GuaranteesService } from './guarantees.service.js';
import { guaranteeVersion, type RecordedGuarantee } from './domain/guarantee.js';

const REFUSALS = ['busy', 'name_taken', 'guarantee_broken', 'rules_unprovable'] as const;

@ApiTags('guarantees')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/guarantees')
export class GuaranteesController {
  constructor(
    private readonly guarantees: GuaranteesService,
    private readonly guaranteeStore: GuaranteeStore,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listGuarantees', 'Guarantees, a page at a time, as they were judged last')
  @Get()
  @ApiOkResponse({ type: GuaranteePageResponse })
  async list(@Query() page: PageQuery): Promise<GuaranteePageResponse> {
    return mapPage(await this.guaranteeStore.list(page), (recordedGuarantee) => this.toResponse(recordedGuarantee));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('createGuarantee', 'Make a guarantee: a sentence that no version may break', ...REFUSALS)
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiBody({ type: GuaranteeDto })
  @ApiCreatedResponse({ type: GuaranteeResponse, ...ETAG_ANSWER })
  async create(
    @Body() body: object,
    @CurrentAuditContext() context: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GuaranteeResponse> {
    const recordedGuarantee = await this.guarantees.write(null, body, context, null);
    const address = `/api/admin/guarantees/${recordedGuarantee.guarantee.id}`;
    void reply.headers({ Location: address, ETag: guaranteeVersion(recordedGuarantee) });
    return this.toResponse(recordedGuarantee);
  }

  @OpenToTokens('admin.read')
  @ApiRoute(
    'checkGuarantees',
    'Judge guarantees on what is recorded now; writes nothing',
    'rules_unprovable',
    'too_many_requests',
  )
  @CountsWork()
  @Post('check')
  @BodyLimits(ADMINISTRATION)
  @HttpCode(200)
  @ApiBody({ type: GuaranteeCheckDto })
  @ApiOkResponse({ type: GuaranteeCheckResponse })
  async check(@Body() body: object): Promise<GuaranteeCheckResponse> {
    const checkedGuarantees = await this.guarantees.check(body);
    return { guarantees: checkedGuarantees.map((each) => toCheckedResponse(each, this.settings.acl.serviceAccounts)) };
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getGuarantee', 'One guarantee')
  @Get(':id')
  @ApiOkResponse({ type: GuaranteeResponse, ...ETAG_ANSWER })
  async find(
    @Param('id', RowIdPipe) id: number,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GuaranteeResponse> {
    const recordedGuarantee = orNotFound(await this.guaranteeStore.find(id));
    void reply.header('ETag', guaranteeVersion(recordedGuarantee));
    return this.toResponse(recordedGuarantee);
  }

  @ApiRoute('replaceGuarantee', 'Replace a guarantee', 'reauthentication_required', 'precondition_failed', ...REFUSALS)
  @Put(':id')
  @BodyLimits(ADMINISTRATION)
  @AcceptsIfMatch()
  @ApiBody({ type: GuaranteeDto })
  @ApiOkResponse({ type: GuaranteeResponse, description: 'Changed in one step.', ...ETAG_ANSWER })
  async replace(
    @Param('id', RowIdPipe) id: number,
    @Body() body: object,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
    @Headers('if-match') ifMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GuaranteeResponse> {
    requireRecentProof(user, this.clock.now());
    const recordedGuarantee = await this.guarantees.write(id, body, context, ifMatch ?? null);
    void reply.header('ETag', guaranteeVersion(recordedGuarantee));
    return this.toResponse(recordedGuarantee);
  }

  @ApiRoute('deleteGuarantee', 'Delete a guarantee', 'busy', 'reauthentication_required', 'precondition_failed')
  @Delete(':id')
  @AcceptsIfMatch()
  @NoContent()
  async remove(
    @Param('id', RowIdPipe) id: number,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
    @Headers('if-match') ifMatch: string | undefined,
  ): Promise<void> {
    requireRecentProof(user, this.clock.now());
    await this.guarantees.remove(id, context, ifMatch ?? null);
  }

  private toResponse(recordedGuarantee: RecordedGuarantee): GuaranteeResponse {
    return toGuaranteeResponse(recordedGuarantee, this.settings.acl.serviceAccounts);
  }
}
