import { Body, Controller, Delete, Get, Param, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiProperty, ApiTags } from '@nestjs/swagger';
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
import { Answers, ApiRoute, NoContent } from '../../platform/http/openapi.js';
import { RowIdPipe } from '../../platform/http/parameters.js';
import { ApiTokensService } from './api-tokens.service.js';
import { ArrayNotEmpty, ArrayUnique, IsArray, IsIn } from 'class-validator';
import { nameProblem } from '../../kernel/name.js';
import { ApiField, MOMENT, NULLABLE_MOMENT } from '../../platform/http/api-fields.js';
import { TOKEN_SCOPES, type TokenScope } from '../../kernel/token-scope.js';
import { FieldRule, momentProblem, TextRule } from '../../platform/http/validation.js';
import { type ApiToken, MAX_TOKENS } from './domain/api-token.js';

class NewApiTokenDto {
  @ApiProperty({ minLength: 1, maxLength: 128, description: 'The purpose of the token, as the audit trail shows it.' })
  @TextRule(nameProblem)
  name!: string;

  @ApiProperty({ enum: TOKEN_SCOPES, isArray: true, minItems: 1, uniqueItems: true })
  @IsArray({ message: 'must be a list' })
  @ArrayNotEmpty({ message: 'must name at least one scope' })
  @ArrayUnique({ message: 'must name each scope once' })
  @IsIn(TOKEN_SCOPES, { each: true, message: `must be among ${TOKEN_SCOPES.join(', ')}` })
  scopes!: TokenScope[];

  @ApiProperty({ ...MOMENT, description: 'At most AUTH_TOKEN_MAX_DAYS from now.' })
  @FieldRule((moment) => (moment === undefined ? 'is required' : momentProblem(moment)))
  expires_at!: string;
}

class ApiTokenResponse {
  @ApiProperty({ description: 'The public part of the token, which identifies a leaked token.' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: TOKEN_SCOPES, isArray: true }) scopes!: readonly TokenScope[];
  @ApiProperty(MOMENT) created_at!: string;
  @ApiProperty(MOMENT) expires_at!: string;
  @ApiField(NULLABLE_MOMENT, 'Time of the last use, to the minute. Null: never used.') last_used_at!: string | null;
}

class NewApiTokenResponse extends ApiTokenResponse {
  @ApiProperty({ pattern: '^glt_[0-9A-Za-z]{57}$', description: 'The token. Only this answer contains it.' })
  token!: string;
}

class ApiTokenList {
  @ApiProperty({ type: [ApiTokenResponse], maxItems: MAX_TOKENS }) items!: ApiTokenResponse[];
}

function toApiTokenList(tokens: readonly ApiToken[]): ApiTokenList {
  return { items: tokens.map(toTokenFields) };
}

function toTokenFields({ id, name, scopes, createdAt, expiresAt, lastUsedAt }: ApiToken) {
  return {
    id,
    name,
    scopes,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
    last_used_at: lastUsedAt?.toISOString() ?? null,
  };
}

/** The user's own API tokens. Requests with an API token cannot use these routes, so that a stolen token cannot create another. */
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
    'Create an API token for a program',
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
    @CurrentAuditContext() context: AuditContext,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewApiTokenResponse> {
    this.sessions.requireRecentProof(user);
    const requestedToken = { name: body.name, scopes: body.scopes, expiresAt: new Date(body.expires_at) };
    const { token, text } = await this.tokens.create(user, requestedToken, context);
    void reply.header('Location', `/api/auth/tokens/${token.id}`);
    return { ...toTokenFields(token), token: text };
  }

  @ApiRoute('listTokens', 'API tokens of the own account, newest first')
  @Get()
  @Answers(ApiTokenList)
  async list(@CurrentUser() { id }: AuthenticatedUser): Promise<ApiTokenList> {
    return toApiTokenList(await this.tokens.listOf(id));
  }

  @ApiRoute('revokeToken', 'Revoke an API token of the own account')
  @Delete(':id')
  @NoContent()
  revoke(
    @Param('id') id: string,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<void> {
    return this.tokens.revoke(user.id, id, context);
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
  @Answers(ApiTokenList)
  async list(@Param('id', RowIdPipe) id: number): Promise<ApiTokenList> {
    return toApiTokenList(await this.tokens.listOf(id));
  }

  @ApiRoute('revokeUserToken', 'Revoke an API token of an account')
  @Delete(':token')
  @NoContent()
  revoke(
    @Param('id', RowIdPipe) id: number,
    @Param('token') token: string,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<void> {
    return this.tokens.revoke(id, token, context);
  }
}
