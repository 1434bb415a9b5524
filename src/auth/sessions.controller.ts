import { Controller, Delete, Get, Param, Post, Query, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { Refused } from '../kernel/errors.js';
import { isUuid } from '../kernel/ids.js';
import { mapPage } from '../kernel/page.js';
import {
  BeforePasswordChange,
  type Client,
  CurrentAuditContext,
  CurrentClient,
  type AuthenticatedUser,
  CurrentUser,
  sessionIdOf,
} from '../platform/access.js';
import { BigPageQuery } from '../platform/page.dto.js';
import { ApiRoute, NoContent } from '../platform/openapi.js';
import { SessionPage, toSessionResponse } from './sessions.dto.js';
import { SessionsService } from './sessions.service.js';
import { SignOutResponse } from './sign-out.response.js';

@ApiTags('auth')
@ApiBearerAuth('access-token')
@Controller('api/auth')
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  @BeforePasswordChange()
  @ApiRoute('logout', 'End this session')
  @Post('logout')
  @NoContent()
  @ApiOkResponse({ type: SignOutResponse, description: 'It began at the identity provider, where it goes on.' })
  async logout(
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SignOutResponse | undefined> {
    const url = await this.sessions.logout(user, client);
    if (url === null) return undefined;
    void reply.status(200);
    return { sign_out_url: url };
  }

  @BeforePasswordChange()
  @ApiRoute('logoutAll', 'End all own sessions')
  @Post('logout-all')
  @NoContent()
  async logoutAll(@CurrentUser() user: AuthenticatedUser, @CurrentClient() client: Client): Promise<void> {
    await this.sessions.logoutAll(user, client);
  }

  @ApiRoute('listSessions', 'The own sessions')
  @Get('sessions')
  @ApiOkResponse({ type: SessionPage })
  async list(@CurrentUser() user: AuthenticatedUser, @Query() page: BigPageQuery): Promise<SessionPage> {
    const sessions = await this.sessions.list(user.id, page);
    return mapPage(sessions, (session) => toSessionResponse(session, sessionIdOf(user)));
  }

  /** A malformed id gets 404, like an unknown one. */
  @ApiRoute('endSession', 'End one own session')
  @Delete('sessions/:id')
  @NoContent()
  async end(
    @Param('id') id: string,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    if (!isUuid(id) || !(await this.sessions.end(user.id, id, by))) throw new Refused('not_found');
  }
}
