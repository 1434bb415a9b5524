import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
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
} from '../platform/access.js';
import { ApiRoute, NoContent } from '../platform/openapi.js';
import { RowIdPipe } from '../platform/row-id.pipe.js';
import { toChange, toFilter, UserChangeDto, UserPage, UserQuery } from './administration.dto.js';
import { AdministrationService } from './administration.service.js';
import { OneTimePasswordResponse, toUserResponse, UserResponse } from './auth.dto.js';
import { PasswordsService } from './passwords.service.js';

@ApiTags('users')
@ApiBearerAuth('access-token')
@AdministratorsOnly()
@Controller('api/admin/users')
export class AdministrationController {
  constructor(
    private readonly administration: AdministrationService,
    private readonly passwords: PasswordsService,
  ) {}

  @ApiRoute('listUsers', 'Accounts, a page at a time')
  @Get()
  @ApiOkResponse({ type: UserPage })
  async list(@Query() query: UserQuery): Promise<UserPage> {
    return mapPage(await this.administration.list(toFilter(query), query), toUserResponse);
  }

  @ApiRoute('getUser', 'One account')
  @Get(':id')
  @ApiOkResponse({ type: UserResponse })
  async find(@Param('id', RowIdPipe) id: number): Promise<UserResponse> {
    return toUserResponse(found(await this.administration.find(id)));
  }

  @ApiRoute('changeUser', 'Change the role of an account, or activate or deactivate it', 'last_administrator')
  @Patch(':id')
  @ApiOkResponse({ type: UserResponse })
  async change(
    @Param('id', RowIdPipe) id: number,
    @Body() body: UserChangeDto,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<UserResponse> {
    const outcome = await this.administration.change(id, toChange(body), by);
    switch (outcome.kind) {
      case 'changed':
        return toUserResponse(outcome.account);
      case 'unknown':
        throw new Refused('not_found');
      case 'last-administrator':
        throw new Refused('last_administrator');
    }
  }

  @ApiRoute('endUserSessions', 'End all sessions of an account')
  @Delete(':id/sessions')
  @NoContent()
  async endSessions(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() by: AuditContext): Promise<void> {
    if (!(await this.administration.endSessions(id, by))) throw new Refused('not_found');
  }

  @ApiRoute('setOneTimePassword', 'Set a password that has to be changed at the first use', 'busy')
  @Post(':id/one-time-password')
  @HttpCode(200)
  @ApiOkResponse({ type: OneTimePasswordResponse })
  async setOneTimePassword(
    @Param('id', RowIdPipe) id: number,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
  ): Promise<OneTimePasswordResponse> {
    const { password, until } = found(await this.passwords.setOneTimePassword(id, user, client, signal));
    return { one_time_password: password, expires_at: until.toISOString() };
  }
}
