import { Body, Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../../audit/domain/audit-event.js';
import { SessionsService } from '../../auth/sessions.service.js';
import {
  AdministratorsOnly,
  type AuthenticatedUser,
  CurrentAuditContext,
  CurrentUser,
  OpenToTokens,
} from '../../platform/http/access.js';
import { BodyLimits } from '../../platform/http/body-limits.js';
import { ApiRoute, NoContent } from '../../platform/http/openapi.js';
import { RowIdPipe } from '../../platform/http/parameters.js';
import {
  ApiTokenList,
  NewApiTokenDto,
  NewApiTokenResponse,
  toApiTokenList,
  toNewApiTokenResponse,
  toWantedToken,
} from './api-tokens.dto.js';
import { ApiTokensService } from './api-tokens.service.js';

/** The user's own API tokens. API tokens cannot use these routes, so that a stolen one cannot make another. */
@ApiTags('auth')
@ApiBearerAuth('access-token')
@Controller('api/auth/tokens')
export class ApiTokensController {
  constructor(
    private readonly tokens: ApiTokensService,
    private readonly sessions: SessionsService,
  ) {}

  @ApiRoute(
    'createToken',
    'Make an API token for a program',
    'administrator_required',
    'too_many_tokens',
    'reauthentication_required',
  )
  @Post()
  @BodyLimits()
  @ApiCreatedResponse({ type: NewApiTokenResponse })
  async create(
    @Body() body: NewApiTokenDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewApiTokenResponse> {
    this.sessions.requireRecentProof(user);
    const { token, text } = await this.tokens.create(user, toWantedToken(body), by);
    void reply.header('Location', `/api/auth/tokens/${token.id}`);
    return toNewApiTokenResponse(token, text);
  }

  @ApiRoute('listTokens', 'The own API tokens, newest first')
  @Get()
  @ApiOkResponse({ type: ApiTokenList })
  async list(@CurrentUser() { id }: AuthenticatedUser): Promise<ApiTokenList> {
    return toApiTokenList(await this.tokens.listOf(id));
  }

  @ApiRoute('revokeToken', 'Revoke an own API token')
  @Delete(':id')
  @NoContent()
  revoke(
    @Param('id') id: string,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.tokens.revoke(user.id, id, by);
  }
}

@ApiTags('users')
@AdministratorsOnly()
@Controller('api/admin/users/:id/tokens')
export class ApiTokensAdministrationController {
  constructor(private readonly tokens: ApiTokensService) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listUserTokens', 'API tokens of an account, newest first')
  @Get()
  @ApiOkResponse({ type: ApiTokenList })
  async list(@Param('id', RowIdPipe) id: number): Promise<ApiTokenList> {
    return toApiTokenList(await this.tokens.listOfAccount(id));
  }

  @ApiRoute('revokeUserToken', 'Revoke an API token of an account')
  @Delete(':token')
  @NoContent()
  revoke(
    @Param('id', RowIdPipe) id: number,
    @Param('token') token: string,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.tokens.revoke(id, token, by);
  }
}
