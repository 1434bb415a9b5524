import { Body, Controller, Delete, Get, Post, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  browserCookieHeader,
  browserCookieIn,
  type CookieSite,
  expiredCookieHeader,
} from '../auth/domain/browser-cookie.js';
import { PASSWORD_REFUSALS, SIGN_IN_REFUSALS, SignOutResponse } from '../auth/auth.dto.js';
import type { BrowserSession } from '../auth/domain/session.js';
import { PasswordsService } from '../auth/passwords.service.js';
import { SessionsService } from '../auth/sessions.service.js';
import { SignInService } from '../auth/sign-in.service.js';
import {
  type AuthenticatedUser,
  BeforePasswordChange,
  type Client,
  CurrentClient,
  CurrentUser,
  Public,
} from '../platform/http/access.js';
import { BodyLimits } from '../platform/http/body-limits.js';
import { Answers, ApiRoute, NoContent } from '../platform/http/openapi.js';
import { Polled } from '../platform/http/request-records.js';
import { Settings } from '../platform/settings/settings.js';
import { AdministratorsService } from '../users/administrators.service.js';
import {
  ConfirmationDto,
  ConsoleAccountResponse,
  ConsoleSignInDto,
  ConsoleStartResponse,
} from './console-session.dto.js';

/** The session of the web console: a cookie, so that no script of the page ever holds a token. */
@ApiTags('console')
@Controller('api/auth/console-session')
export class ConsoleSessionController {
  constructor(
    private readonly signIn: SignInService,
    private readonly sessions: SessionsService,
    private readonly passwords: PasswordsService,
    private readonly administrators: AdministratorsService,
    private readonly settings: Settings,
  ) {}

  @Public()
  @Polled()
  /** Answers 200 also when nobody is signed in, because browsers log a 401 as an error. */
  @ApiRoute('getConsoleStart', 'The signed-in account of the web console')
  @Get()
  @Answers(ConsoleStartResponse)
  async getStart(@Req() request: FastifyRequest): Promise<ConsoleStartResponse> {
    // A request has one credential: an Authorization header takes precedence over the cookie.
    const { cookie: cookies, authorization } = request.headers;
    const cookie = authorization === undefined ? browserCookieIn(cookies, this.siteOf(request)) : null;
    const session = cookie === null ? null : await this.sessions.admitBrowser(cookie, { isUse: false });
    const has_administrator = await this.administrators.hasAny();
    return { account: session === null ? null : this.accountOf(session), has_administrator };
  }

  @Public()
  @ApiRoute('openConsoleSession', 'Sign in to the web console', ...SIGN_IN_REFUSALS)
  @Post()
  @BodyLimits()
  @NoContent('The cookie is set.')
  async open(
    @Body() { username, password }: ConsoleSignInDto,
    @CurrentClient() client: Client,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const cookie = await this.signIn.signInBrowser(username, password, client);
    void reply.header('Set-Cookie', browserCookieHeader(this.siteOf(request), cookie));
  }

  @BeforePasswordChange()
  @ApiRoute('endConsoleSession', 'Sign out of the web console')
  @Delete()
  @ApiBearerAuth('access-token')
  @NoContent()
  @ApiOkResponse({ type: SignOutResponse, description: 'It began at the provider, where the user is still signed in.' })
  async end(
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SignOutResponse | undefined> {
    const signOutUrl = await this.sessions.logout(user, client);
    void reply
      .header('Set-Cookie', expiredCookieHeader(this.siteOf(request)))
      .header('Clear-Site-Data', '"cookies", "storage"');
    if (signOutUrl === null) return undefined;
    void reply.status(200);
    return { sign_out_url: signOutUrl };
  }

  @ApiRoute('confirmConsoleSession', 'Prove the identity again by password', ...PASSWORD_REFUSALS)
  @Post('confirm')
  @BodyLimits()
  @ApiBearerAuth('access-token')
  @NoContent()
  confirm(
    @CurrentUser() user: AuthenticatedUser,
    @Body() { password }: ConfirmationDto,
    @CurrentClient() client: Client,
  ): Promise<void> {
    return this.passwords.confirm(user, password, client);
  }

  private accountOf({ account, provedAt }: BrowserSession): ConsoleAccountResponse {
    const { id, username, role, hasPassword } = account;
    return { id, username, role, has_password: hasPassword, is_confirmed: this.sessions.isRecentProof(provedAt) };
  }

  private siteOf({ protocol, hostname }: FastifyRequest): CookieSite {
    return { isProduction: this.settings.isProduction, protocol, hostname };
  }
}
