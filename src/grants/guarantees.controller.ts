import { Body, Controller, Delete, Get, Headers, HttpCode, Param, Post, Put, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiBody, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { requireRecentProof } from '../auth/domain/session.js';
import { Clock } from '../kernel/clock.js';
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
import { Conditional, VERSION } from './grants.dto.js';
import {
  GuaranteeCheckDto,
  GuaranteeCheckResponse,
  GuaranteeDto,
  GuaranteePageResponse,
  GuaranteeResponse,
  toCheckedResponse,
  toGuaranteeResponse,
} from './guarantees.dto.js';
import { GuaranteesService } from './guarantees.service.js';
import { guaranteeVersion, type RecordedGuarantee } from './domain/guarantee.js';

const WRITES = ['busy', 'name_taken', 'guarantee_broken', 'rules_unprovable'] as const;

@ApiTags('guarantees')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/guarantees')
export class GuaranteesController {
  constructor(
    private readonly guarantees: GuaranteesService,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listGuarantees', 'Guarantees, a page at a time, as they were judged last')
  @Get()
  @ApiOkResponse({ type: GuaranteePageResponse })
  async list(@Query() page: PageQuery): Promise<GuaranteePageResponse> {
    return mapPage(await this.guarantees.list(page), (told) => this.response(told));
  }

  @OpenToTokens('admin.write')
  @ApiRoute('createGuarantee', 'Make a guarantee: a sentence that no version may break', ...WRITES)
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiBody({ type: GuaranteeDto })
  @ApiCreatedResponse({ type: GuaranteeResponse })
  async create(
    @Body() body: object,
    @CurrentAuditContext() by: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GuaranteeResponse> {
    const told = await this.guarantees.write(null, body, by, null);
    void reply.header('Location', `/api/admin/guarantees/${told.guarantee.id}`);
    return this.response(told);
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
    const checked = await this.guarantees.check(body);
    return { guarantees: checked.map((each) => toCheckedResponse(each, this.settings.acl.serviceAccounts)) };
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getGuarantee', 'One guarantee')
  @Get(':id')
  @ApiOkResponse({ type: GuaranteeResponse, ...VERSION })
  async find(
    @Param('id', RowIdPipe) id: number,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GuaranteeResponse> {
    const told = await this.guarantees.find(id);
    void reply.header('ETag', guaranteeVersion(told));
    return this.response(told);
  }

  @ApiRoute('replaceGuarantee', 'Replace a guarantee', 'reauthentication_required', 'precondition_failed', ...WRITES)
  @Put(':id')
  @BodyLimits(ADMINISTRATION)
  @Conditional()
  @ApiBody({ type: GuaranteeDto })
  @ApiOkResponse({ type: GuaranteeResponse, description: 'Changed in one step.', ...VERSION })
  async replace(
    @Param('id', RowIdPipe) id: number,
    @Body() body: object,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
    @Headers('if-match') ifMatch: string | undefined,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<GuaranteeResponse> {
    requireRecentProof(user, this.clock.now());
    const told = await this.guarantees.write(id, body, by, ifMatch ?? null);
    void reply.header('ETag', guaranteeVersion(told));
    return this.response(told);
  }

  @ApiRoute('deleteGuarantee', 'Delete a guarantee', 'busy', 'reauthentication_required', 'precondition_failed')
  @Delete(':id')
  @Conditional()
  @NoContent()
  async remove(
    @Param('id', RowIdPipe) id: number,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
    @Headers('if-match') ifMatch: string | undefined,
  ): Promise<void> {
    requireRecentProof(user, this.clock.now());
    await this.guarantees.remove(id, by, ifMatch ?? null);
  }

  private response(told: RecordedGuarantee): GuaranteeResponse {
    return toGuaranteeResponse(told, this.settings.acl.serviceAccounts);
  }
}
