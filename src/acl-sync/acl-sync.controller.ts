import { Body, Controller, Delete, Get, Param, Post, Query, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { SessionsService } from '../auth/sessions.service.js';
import { entityTag, matchesEntityTag } from '../kernel/entity-tag.js';
import { Refused } from '../kernel/errors.js';
import { mapPage } from '../kernel/page.js';
import {
  AdministratorsOnly,
  type AuthenticatedUser,
  CurrentAuditContext,
  CurrentUser,
  OpenToTokens,
} from '../platform/http/access.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { Polled } from '../platform/http/request-records.js';
import { Answers, ApiRoute, NoContent } from '../platform/http/openapi.js';
import { RowIdPipe } from '../platform/http/parameters.js';
import {
  ApprovalDto,
  ComparisonQuery,
  PreviewResponse,
  PublicationPageResponse,
  PublicationQuery,
  PublicationResponse,
  RestoreDto,
  SyncResponse,
  toEntryResponse,
  toPublicationResponse,
  toSummaryResponse,
} from './acl-sync.dto.js';
import { AclSyncService, type RunResult } from './acl-sync.service.js';
import { failureOf, type RunFailure } from './domain/publication.js';
import { PublicationHistory } from './domain/publication-history.js';
import { statusForm } from './domain/run-text.js';
import type { TargetState } from './domain/target-state.js';
import { EngineWatchService } from './engine-watch.service.js';
import { PreviewService } from './preview.service.js';
import { PublicationsService } from './publications.service.js';
import { StatusResponse } from './status.dto.js';

const RESTORE_REFUSALS = ['sync_in_progress', 'target_unavailable', 'reauthentication_required'] as const;
const WITH_ENTITY_TAG = { ETag: { schema: { type: 'string' } } } as const;

@ApiTags('publishing')
@AdministratorsOnly()
@Controller('api/admin/acl')
export class AclSyncController {
  constructor(
    private readonly syncService: AclSyncService,
    private readonly previews: PreviewService,
    private readonly publishing: PublicationsService,
    private readonly history: PublicationHistory,
    private readonly sessions: SessionsService,
    private readonly watch: EngineWatchService,
  ) {}

  @OpenToTokens('admin.write')
  @ApiRoute('runSync', 'Compile, prove and publish now', 'sync_in_progress', 'target_unavailable')
  @Post('sync')
  @Answers(SyncResponse)
  async run(@CurrentAuditContext() by: AuditContext): Promise<SyncResponse> {
    return toResultResponse(await this.syncService.run({ trigger: 'route', by, lockTimeoutMs: 0 }));
  }

  @OpenToTokens('admin.read')
  @ApiRoute('previewSync', 'Preview what a run would publish', 'target_unavailable', 'too_many_requests')
  @Post('preview')
  @Answers(PreviewResponse)
  async preview(@CurrentUser() user: AuthenticatedUser): Promise<PreviewResponse> {
    return this.previews.preview(user.id).catch((error: unknown) => {
      throw error instanceof Refused ? error : refusalOf(failureOf(error));
    });
  }

  /** An approval takes effect with the next run, which starts some seconds later. */
  @ApiRoute(
    'approveChange',
    'Approve an unexplained change',
    'approval_not_awaited',
    'guarantee_broken',
    'reauthentication_required',
  )
  @Post('approvals')
  @BodyLimits(ADMINISTRATION)
  @NoContent()
  async approve(
    @Body() { hash }: ApprovalDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    this.sessions.requireRecentProof(user);
    await this.publishing.approve(hash, by);
  }

  @OpenToTokens('admin.read')
  @Polled()
  @ApiRoute('getSyncStatus', 'Status of publishing: the last run, the published and the live version')
  @Get('status')
  @ApiOkResponse({ type: StatusResponse, headers: WITH_ENTITY_TAG })
  @ApiResponse({ status: 304, description: 'Nothing has changed since the answer with that ETag.' })
  async status(
    @Req() { headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<StatusResponse | undefined> {
    const status = { ...statusForm(await this.publishing.status()), open_catalogs: [...this.watch.openCatalogs] };
    const tag = entityTag(status);
    // The client may keep the answer, but must revalidate it each time.
    void reply.headers({ ETag: tag, 'Cache-Control': 'private, no-cache' });
    if (!matchesEntityTag(headers['if-none-match'], tag)) return status;
    void reply.status(304);
    return undefined;
  }

  @OpenToTokens('admin.read')
  @Polled()
  @ApiRoute('listPublications', 'Published versions, newest first')
  @Get('publications')
  @Answers(PublicationPageResponse)
  async publications(@Query() { runs, ...page }: PublicationQuery): Promise<PublicationPageResponse> {
    if (runs === 'all') return mapPage(await this.history.listWithRuns(page), toEntryResponse);
    return mapPage(await this.history.list(page), toEntryResponse);
  }

  /** Compares the version with the text that was live before it, or with the version `against`. */
  @OpenToTokens('admin.read')
  @ApiRoute('getPublication', 'One published version, with its text', 'too_many_requests')
  @Get('publications/:version')
  @Answers(PublicationResponse)
  async publication(
    @Param('version', RowIdPipe) version: number,
    @Query() { against }: ComparisonQuery,
    @CurrentUser() user: AuthenticatedUser,
  ): Promise<PublicationResponse> {
    const publication = await this.history.find(version);
    const comparedPublication = against === undefined ? null : await this.history.find(against);
    if (publication === null || (against !== undefined && comparedPublication === null)) throw new Refused('not_found');
    if (comparedPublication === null) return toPublicationResponse(publication);
    return toPublicationResponse({
      ...publication,
      ...(await this.previews.compare(user.id, comparedPublication, publication)),
    });
  }

  /** Publishes an older version's text at once, for some hours. Refused if that text gives access that the current grants deny. */
  @ApiRoute('restorePublication', 'Publish an older version again, for some hours', ...RESTORE_REFUSALS)
  @Post('publications/:version/restore')
  @BodyLimits(ADMINISTRATION)
  @Answers(SyncResponse)
  async restore(
    @Param('version', RowIdPipe) version: number,
    @Body() { reason, hours }: RestoreDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<SyncResponse> {
    this.sessions.requireRecentProof(user);
    return toResultResponse(await this.publishing.restore(version, reason, hours, by));
  }

  /** Ends the restore in effect, and publishes rules by the current grants. Does nothing without a restore. */
  @ApiRoute('endRestore', 'End the restore in effect, and publish rules by the current grants', ...RESTORE_REFUSALS)
  @Delete('restore')
  @NoContent()
  async endRestore(@CurrentUser() user: AuthenticatedUser, @CurrentAuditContext() by: AuditContext): Promise<void> {
    this.sessions.requireRecentProof(user);
    const result = await this.publishing.endRestore(by);
    if (result !== null) toResultResponse(result);
  }
}

/** The answer about a run. @throws Refused `sync_in_progress`; `target_unavailable`, `database_unavailable`, `internal_error` for a failed run */
function toResultResponse(result: RunResult): SyncResponse {
  if (result.kind === 'busy') throw new Refused('sync_in_progress');
  const { outcome } = result;
  if (outcome.kind === 'failed') throw refusalOf(outcome.failure, result.targets);
  const { kind, reasons, publication } = outcome;
  const awaits = kind === 'refused' ? outcome.awaits : null;
  return { outcome: kind, publication: publication && toSummaryResponse(publication), awaits, reasons };
}

function refusalOf({ reason, message, auditId, cause }: RunFailure, targets: readonly TargetState[] = []): Refused {
  if (reason === 'internal') return new Refused('internal_error', { cause });
  if (reason === 'deadline' || reason === 'memory') return new Refused('internal_error', { detail: message, cause });
  if (reason === 'lease-lost') return new Refused('database_unavailable', { cause });
  const errors = targets.flatMap(({ target: field, failure }) =>
    failure === null ? [] : { field, message: failure.message },
  );
  const members = { reason, audit_id: auditId };
  return new Refused('target_unavailable', { detail: message, ...(errors.length > 0 && { errors }), members, cause });
}
