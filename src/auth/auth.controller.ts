import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { mapPage } from '../kernel/page.js';
import {
  type AuthenticatedUser,
  BeforePasswordChange,
  type Client,
  CurrentAuditContext,
  CurrentClient,
  CurrentUser,
  OpenToTokens,
  Public,
  sessionIdOf,
} from '../platform/http/access.js';
import { BodyLimits } from '../platform/http/body-limits.js';
import { Answers, ApiRoute, NoContent } from '../platform/http/openapi.js';
import { BigPageQuery } from '../platform/http/page.dto.js';
import { UuidPipe } from '../platform/http/parameters.js';
import {
  EmailChangeDto,
  LoginDto,
  PASSWORD_REFUSALS,
  PasswordChangeDto,
  RefreshDto,
  RegisterDto,
  RevokedTokensResponse,
  SessionPage,
  SIGN_IN_REFUSALS,
  SignOutResponse,
  TokenResponse,
  toSessionResponse,
  toTokenResponse,
  toUserResponse,
  UserResponse,
} from './auth.dto.js';
import { PasswordsService } from './passwords.service.js';
import { type AdmittedRequest, SessionsService } from './sessions.service.js';
import { TOKEN_SCOPES } from '../kernel/token-scope.js';
import { RegistrationService } from './registration.service.js';
import { SignInService } from './sign-in.service.js';

@ApiTags('auth')
@Controller('api/auth')
export class AuthController {
  constructor(
    private readonly registration: RegistrationService,
    private readonly signIn: SignInService,
    private readonly sessions: SessionsService,
  ) {}

  @Public()
  @ApiRoute(
    'register',
    'Create an account',
    'username_taken',
    'email_taken',
    'registration_closed',
    'password_sign_in_disabled',
    'too_many_requests',
    'busy',
  )
  @Post('register')
  @BodyLimits()
  @ApiCreatedResponse({ type: UserResponse })
  async register(
    @Body() body: RegisterDto,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UserResponse> {
    const account = await this.registration.register(body, client);
    void reply.header('Location', '/api/auth/me');
    return toUserResponse(account);
  }

  @Public()
  @ApiRoute('login', 'Sign in: an access token and a refresh token', ...SIGN_IN_REFUSALS)
  @Post('login')
  @BodyLimits()
  @Answers(TokenResponse)
  async login(@Body() { username, password }: LoginDto, @CurrentClient() client: Client): Promise<TokenResponse> {
    return toTokenResponse(await this.signIn.signIn(username, password, client));
  }

  @Public()
  @ApiRoute(
    'refreshTokens',
    'Rotate the refresh token: a new pair',
    'token_invalid',
    'token_superseded',
    'token_expired',
  )
  @Post('refresh')
  @BodyLimits()
  @Answers(TokenResponse)
  async refresh(@Body() body: RefreshDto, @CurrentClient() client: Client): Promise<TokenResponse> {
    return toTokenResponse(await this.sessions.refresh(body.refresh_token, client));
  }

  @BeforePasswordChange()
  @OpenToTokens(...TOKEN_SCOPES)
  @ApiRoute('getOwnAccount', 'The account of the signed-in user')
  @Get('me')
  @ApiBearerAuth('access-token')
  @Answers(UserResponse)
  me(@Req() { user: { account } }: AdmittedRequest): UserResponse {
    return toUserResponse(account);
  }
}

/** Routes for the signed-in user's sessions, password and e-mail address. */
@ApiTags('auth')
@ApiBearerAuth('access-token')
@Controller('api/auth')
export class OwnAccountController {
  constructor(
    private readonly sessions: SessionsService,
    private readonly passwords: PasswordsService,
  ) {}

  @BeforePasswordChange()
  @ApiRoute('logout', 'End this session')
  @Post('logout')
  @NoContent()
  @ApiOkResponse({ type: SignOutResponse, description: 'It began at the provider, where the user is still signed in.' })
  async logout(
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<SignOutResponse | undefined> {
    const signOutUrl = await this.sessions.logout(user, client);
    if (signOutUrl === null) return undefined;
    void reply.status(200);
    return { sign_out_url: signOutUrl };
  }

  @BeforePasswordChange()
  @ApiRoute('logoutAll', 'End all sessions of the signed-in user')
  @Post('logout-all')
  @NoContent()
  async logoutAll(@CurrentUser() user: AuthenticatedUser, @CurrentAuditContext() context: AuditContext): Promise<void> {
    await this.sessions.endSessions('logout_all', user, context);
  }

  @ApiRoute('listSessions', 'Sessions of the signed-in user')
  @Get('sessions')
  @Answers(SessionPage)
  async list(@CurrentUser() user: AuthenticatedUser, @Query() page: BigPageQuery): Promise<SessionPage> {
    const sessions = await this.sessions.list(user.id, page);
    return mapPage(sessions, (session) => toSessionResponse(session, sessionIdOf(user)));
  }

  @ApiRoute('endSession', 'End one session of the signed-in user')
  @Delete('sessions/:id')
  @NoContent()
  end(
    @Param('id', UuidPipe) id: string,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<void> {
    return this.sessions.end(user.id, id, context);
  }

  @BeforePasswordChange()
  @ApiRoute(
    'changePassword',
    'Change the own password; ends the other sessions and all API tokens',
    ...PASSWORD_REFUSALS,
  )
  @Post('password')
  @BodyLimits()
  @NoContent()
  @ApiOkResponse({ type: RevokedTokensResponse, description: 'The password was changed, and API tokens were revoked.' })
  async changePassword(
    @CurrentUser() user: AuthenticatedUser,
    @Body() body: PasswordChangeDto,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RevokedTokensResponse | undefined> {
    const passwords = { currentPassword: body.current_password, newPassword: body.new_password };
    const revoked_tokens = await this.passwords.changePassword(user, passwords, client);
    if (revoked_tokens === 0) return undefined;
    void reply.status(200);
    return { revoked_tokens };
  }

  @ApiRoute('changeEmail', 'Change the own e-mail address', 'email_taken', ...PASSWORD_REFUSALS)
  @Patch('me')
  @BodyLimits()
  @Answers(UserResponse)
  async changeEmail(
    @CurrentUser() user: AuthenticatedUser,
    @Body() body: EmailChangeDto,
    @CurrentClient() client: Client,
  ): Promise<UserResponse> {
    const emailChange = { email: body.email, currentPassword: body.current_password };
    return toUserResponse(await this.passwords.changeEmail(user, emailChange, client));
  }
}
