import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import { AdministratorsOnly, type AuthenticatedUser, CurrentUser, OpenToTokens } from '../platform/http/access.js';
import { ApiRoute } from '../platform/http/openapi.js';
import { NamePageQuery } from '../platform/http/page.dto.js';
import {
  EffectiveOfQuery,
  ExplainOfQuery,
  ExplainQuery,
  nodeOfCursor,
  principalOf,
  toQuestion,
  WhoQuery,
} from './access.dto.js';
import {
  EffectivePageResponse,
  ExplanationResponse,
  toEffectivePage,
  toWhoPage,
  WhoPageResponse,
} from './access.response.js';
import { nodeOfQuery } from './resource.dto.js';
import { AccessService } from './access.service.js';
import { explanationForm } from './domain/explanation-form.js';
import { CountsWork } from '../platform/http/work-budgets.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { Compressed } from '../platform/http/compression.js';
import { DraftDto, DraftPreviewResponse, DraftQuery, toDraftPreview, toDraftRequest } from './drafts.dto.js';
import { DraftsService } from './drafts.service.js';

/** Questions of users about their own access. */
@ApiTags('access')
@ApiBearerAuth('access-token')
@Controller('api/access')
export class AccessController {
  constructor(private readonly access: AccessService) {}

  @OpenToTokens('access.read')
  @ApiRoute('listOwnAccess', 'What the caller may do, and through what', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('effective')
  @ApiOkResponse({ type: EffectivePageResponse })
  async effective(
    @Query() { limit, after }: NamePageQuery,
    @CurrentUser() { id }: AuthenticatedUser,
  ): Promise<EffectivePageResponse> {
    const page = { limit: limit + 1, after: nodeOfCursor(after) };
    return toEffectivePage(await this.access.effective({ type: 'user', id }, page), limit);
  }

  @OpenToTokens('access.read')
  @ApiRoute('explainOwnAccess', 'Why the caller may do something, or not', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('explain')
  @ApiOkResponse({ type: ExplanationResponse })
  async explain(@Query() query: ExplainQuery, @CurrentUser() { id }: AuthenticatedUser): Promise<ExplanationResponse> {
    const { as: _, queries, ...node } = nodeOfQuery(query);
    // The answer contains the name of the user whose id is asked about.
    if (queries !== undefined) {
      const message = 'is asked about by administrators alone';
      throw new Refused('validation_failed', { errors: [{ field: 'queries', message }] });
    }
    // `as` is left out: no account impersonates others, and none may learn who does.
    return explanationForm(await this.access.explain({ type: 'user', id }, toQuestion(query, node)), true);
  }
}

/** Administrators' questions about anybody's access. */
@ApiTags('access')
@AdministratorsOnly()
@Controller('api/admin/access')
export class AccessAdministrationController {
  constructor(
    private readonly access: AccessService,
    private readonly drafts: DraftsService,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listAccess', 'What a principal may do, and through what', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('effective')
  @ApiOkResponse({ type: EffectivePageResponse })
  async effective(@Query() query: EffectiveOfQuery): Promise<EffectivePageResponse> {
    const page = { limit: query.limit + 1, after: nodeOfCursor(query.after) };
    return toEffectivePage(await this.access.effective(principalOf(query), page), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('explainAccess', 'Why a principal may do something, or not', 'not_found', 'too_many_requests')
  @CountsWork()
  @Get('explain')
  @ApiOkResponse({ type: ExplanationResponse })
  async explain(@Query() query: ExplainOfQuery): Promise<ExplanationResponse> {
    const question = toQuestion(query, await this.access.named(nodeOfQuery(query)));
    return explanationForm(await this.access.explain(principalOf(query), question), false);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('listAccessHolders', 'Who may do something on a resource', 'too_many_requests')
  @CountsWork()
  @Compressed()
  @Get('who')
  @ApiOkResponse({ type: WhoPageResponse })
  async who(@Query() query: WhoQuery): Promise<WhoPageResponse> {
    const page = { limit: query.limit + 1, after: query.after?.[0] ?? null };
    const question = toQuestion(query, await this.access.named(nodeOfQuery(query)));
    return toWhoPage(await this.access.holders(question, page), query.limit);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('previewDraft', 'What a draft of changes would change; records nothing', 'too_many_requests')
  @Post('preview')
  @BodyLimits(ADMINISTRATION)
  @HttpCode(200)
  @ApiOkResponse({ type: DraftPreviewResponse })
  async preview(@Body() body: DraftDto, @Query() { limit, after }: DraftQuery): Promise<DraftPreviewResponse> {
    const [principal, ...names] = after ?? [];
    const cursor = principal === undefined ? null : { principal, resource: nodeOfCursor(names) ?? {} };
    return toDraftPreview(await this.drafts.preview(toDraftRequest(body), { limit, after: cursor }), limit);
  }
}
