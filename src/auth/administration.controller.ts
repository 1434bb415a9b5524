import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { found, Refused } from '../kernel/errors.js';
import { mapPage } from '../kernel/page.js';
import {
  AdministratorsOnly,
  CurrentAuditContext,
  type Client,
  CurrentClient,
  type AuthenticatedUser,
  CurrentUser,
  UntilClientGone,
  OpenToTokens,
  sessionIdOf,
} from '../platform/http/access.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { ApiRoute, NoContent } from '../platform/http/openapi.js';
import { BigPageQuery } from '../platform/http/page.dto.js';
import { RowIdPipe } from '../platform/http/parameters.js';
import {
  AccountResponse,
  NewUserDto,
  NewUserResponse,
  toAccountResponse,
  toChange,
  toFilter,
  toNewUser,
  toNewUserResponse,
  UserChangeDto,
  toUsedAccountResponse,
  UserPage,
  UserQuery,
  UsedAccountResponse,
} from './administration.dto.js';
import {
  AdministrationService,
  changeAsksForProof,
  nameTaken,
  newAccountAsksForProof,
} from './administration.service.js';
import { OneTimePasswordResponse, SessionPage, toSessionResponse } from './auth.dto.js';
import { PasswordsService } from './passwords.service.js';
import { SessionsService } from './sessions.service.js';

@ApiTags('users')
@AdministratorsOnly()
@Controller('api/admin/users')
export class AdministrationController {
  constructor(
    private readonly administration: AdministrationService,
    private readonly passwords: PasswordsService,
    private readonly sessions: SessionsService,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listUsers', 'Accounts, a page at a time')
  @Get()
  @ApiOkResponse({ type: UserPage })
  async list(@Query() query: UserQuery): Promise<UserPage> {
    const filter = toFilter(query);
    const page = mapPage(await this.administration.list(filter, query), toUsedAccountResponse);
    return { ...page, total: await this.administration.count(filter) };
  }

  @ApiRoute(
    'createUser',
    'Make an account without a password, or with a one-time password',
    'username_taken',
    'busy',
    'reauthentication_required',
  )
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiCreatedResponse({ type: NewUserResponse })
  async create(
    @Body() body: NewUserDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewUserResponse> {
    const asked = toNewUser(body);
    if (newAccountAsksForProof(asked)) this.sessions.requireRecentProof(user);
    const made = await this.administration.create(asked, by, client, signal);
    void reply.header('Location', `/api/admin/users/${made.account.id}`);
    return toNewUserResponse(made);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getUser', 'One account')
  @Get(':id')
  @ApiOkResponse({ type: UsedAccountResponse })
  async find(@Param('id', RowIdPipe) id: number): Promise<UsedAccountResponse> {
    return toUsedAccountResponse(found(await this.administration.find(id)));
  }

  @ApiRoute(
    'changeUser',
    'Change the role of an account, activate or deactivate it, or rename one without a password',
    'last_administrator',
    'username_taken',
    'account_has_password',
    'managed_elsewhere',
    'reauthentication_required',
  )
  @Patch(':id')
  @BodyLimits(ADMINISTRATION)
  @ApiOkResponse({ type: AccountResponse })
  async change(
    @Param('id', RowIdPipe) id: number,
    @Body() body: UserChangeDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<AccountResponse> {
    const [asked, before] = [toChange(body), found(await this.administration.find(id))];
    if (changeAsksForProof(asked, before)) this.sessions.requireRecentProof(user);
    const outcome = await this.administration.change(id, asked, by);
    switch (outcome.kind) {
      case 'changed':
        return toAccountResponse(outcome.account);
      case 'unknown':
        throw new Refused('not_found');
      case 'last-administrator':
        throw new Refused('last_administrator');
      case 'has-password':
        throw new Refused('account_has_password', {
          detail: 'An account with a password keeps the name it signs in by.',
        });
      case 'name-taken':
        throw nameTaken(body.username ?? '', outcome);
    }
  }

  @ApiRoute('listUserSessions', 'Sessions of an account')
  @Get(':id/sessions')
  @ApiOkResponse({ type: SessionPage })
  async sessionsOf(
    @Param('id', RowIdPipe) id: number,
    @Query() page: BigPageQuery,
    @CurrentUser() user: AuthenticatedUser,
  ): Promise<SessionPage> {
    found(await this.administration.find(id));
    return mapPage(await this.sessions.list(id, page), (session) => toSessionResponse(session, sessionIdOf(user)));
  }

  @ApiRoute('endUserSession', 'End one session of an account')
  @Delete(':id/sessions/:session')
  @NoContent()
  endSession(
    @Param('id', RowIdPipe) id: number,
    @Param('session') session: string,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.sessions.end(id, session, by);
  }

  @ApiRoute('endUserSessions', 'End all sessions of an account')
  @Delete(':id/sessions')
  @NoContent()
  async endSessions(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() by: AuditContext): Promise<void> {
    await this.sessions.endSessions('sessions_ended', found(await this.administration.find(id)), by);
  }

  @ApiRoute(
    'setOneTimePassword',
    'Set a password that has to be changed at the first use',
    'busy',
    'reauthentication_required',
  )
  @Post(':id/one-time-password')
  @HttpCode(200)
  @ApiOkResponse({ type: OneTimePasswordResponse })
  async setOneTimePassword(
    @Param('id', RowIdPipe) id: number,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
  ): Promise<OneTimePasswordResponse> {
    this.sessions.requireRecentProof(user);
    const { password, until, revokedTokens } = await this.passwords.setOneTimePassword(id, user, client, signal);
    return { one_time_password: password, expires_at: until.toISOString(), revoked_tokens: revokedTokens };
  }
}
