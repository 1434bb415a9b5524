import { Controller, Get, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import { type AuthenticatedUser, CurrentUser, OpenToTokens } from '../platform/access.js';
import { ApiRoute } from '../platform/openapi.js';
import { EffectiveQuery, ExplainQuery, nodeOfCursor, toQuestion } from './access.dto.js';
import { EffectivePageResponse, toEffectivePage } from './access.response.js';
import { ExplanationResponse } from './explanation.response.js';
import { nodeOfQuery } from './resource.dto.js';
import { AccessService } from './access.service.js';
import { explanationForm } from './domain/explanation-form.js';
import { CountsWork } from '../platform/http/work.guard.js';

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
    @Query() { limit, after }: EffectiveQuery,
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
    // The answer names whom the question names by an id.
    if (queries !== undefined) {
      const message = 'is asked about by administrators alone';
      throw new Refused('validation_failed', { errors: [{ field: 'queries', message }] });
    }
    // An account acts as nobody, and learns nothing of whom others act as.
    return explanationForm(await this.access.explain({ type: 'user', id }, toQuestion(query, node)), true);
  }
}
