import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import {
  auditContextOf,
  AdministratorsOnly,
  type Client,
  CurrentClient,
  type AuthenticatedUser,
  CurrentUser,
} from '../platform/access.js';
import { ApiProblems } from '../platform/openapi.js';
import { PageQuery } from '../platform/page.dto.js';
import { RowIdPipe } from '../platform/row-id.pipe.js';
import { AclSyncService } from './acl-sync.service.js';
import { ApprovalsService } from './approvals.service.js';
import { failureOf } from './domain/publication.js';
import { previewForm, PreviewService } from './preview.service.js';
import {
  PublicationPageResponse,
  PublicationResponse,
  toPublicationResponse,
  toSummaryResponse,
} from './publication.response.js';
import { StatusService } from './status.service.js';
import {
  ApprovalDto,
  PreviewResponse,
  refusalOf,
  StatusResponse,
  SyncResponse,
  toStatusResponse,
  toSyncResponse,
} from './sync.response.js';

/** Seconds until a retry makes sense, while other previews are running. */
const RETRY_AFTER_SECONDS = 5;

@ApiTags('publishing')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/acl')
export class AclSyncController {
  constructor(
    private readonly sync: AclSyncService,
    private readonly previews: PreviewService,
    private readonly statuses: StatusService,
    private readonly approvals: ApprovalsService,
  ) {}

  @ApiProblems('sync_in_progress', 'target_unavailable')
  @Post('sync')
  @HttpCode(200)
  @ApiOkResponse({ type: SyncResponse })
  async run(@CurrentUser() user: AuthenticatedUser, @CurrentClient() client: Client): Promise<SyncResponse> {
    const result = await this.sync.run({ trigger: 'route', by: auditContextOf(user, client), lockTimeoutMs: 0 });
    if (result.kind === 'busy') throw new Refused('sync_in_progress');
    return toSyncResponse(result.outcome);
  }

  @ApiProblems('target_unavailable', 'too_many_requests')
  @Post('preview')
  @HttpCode(200)
  @ApiOkResponse({ type: PreviewResponse })
  async preview(@CurrentUser() user: AuthenticatedUser): Promise<PreviewResponse> {
    const result = await this.previews.preview(user.id).catch((error: unknown) => {
      throw refusalOf(failureOf(error));
    });
    if (result.kind === 'too-many') {
      throw new Refused('too_many_requests', { quota: result.quota, retryAfter: RETRY_AFTER_SECONDS });
    }
    return previewForm(result.preview);
  }

  /** Takes effect with the next run, which starts some seconds later. */
  @ApiProblems('approval_not_awaited')
  @Post('approvals')
  @HttpCode(204)
  @ApiNoContentResponse()
  async approve(
    @Body() { hash }: ApprovalDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
  ): Promise<void> {
    await this.approvals.approve(hash, auditContextOf(user, client));
  }

  @Get('status')
  @ApiOkResponse({ type: StatusResponse })
  async status(): Promise<StatusResponse> {
    return toStatusResponse(await this.statuses.status());
  }

  @Get('publications')
  @ApiOkResponse({ type: PublicationPageResponse })
  async publications(@Query() page: PageQuery): Promise<PublicationPageResponse> {
    const { items, next } = await this.statuses.publications(page);
    return { items: items.map(toSummaryResponse), next };
  }

  @Get('publications/:version')
  @ApiOkResponse({ type: PublicationResponse })
  async publication(@Param('version', RowIdPipe) version: number): Promise<PublicationResponse> {
    const publication = await this.statuses.publication(version);
    if (publication === null) throw new Refused('not_found');
    return toPublicationResponse(publication);
  }
}
