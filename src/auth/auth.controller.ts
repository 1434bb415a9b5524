import { Body, Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import {
  BeforePasswordChange,
  type Client,
  CurrentClient,
  Public,
  UntilClientGone,
  OpenToTokens,
} from '../platform/http/access.js';
import { BodyLimits } from '../platform/http/body-limits.js';
import { TOKEN_SCOPES } from '../kernel/token-scope.js';
import { ApiRoute } from '../platform/http/openapi.js';
import {
  LoginDto,
  PASSWORD_REFUSALS,
  RefreshDto,
  RegisterDto,
  TokenResponse,
  toTokenResponse,
  toUserResponse,
  UserResponse,
} from './auth.dto.js';
import { RegistrationService } from './registration.service.js';
import { type AdmittedRequest, SessionsService } from './sessions.service.js';
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
    'Make an account',
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
    @UntilClientGone() signal: AbortSignal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UserResponse> {
    const account = await this.registration.register(body, client, signal);
    void reply.header('Location', '/api/auth/me');
    return toUserResponse(account);
  }

  @Public()
  @ApiRoute(
    'login',
    'Sign in: an access token and a refresh token',
    'account_deactivated',
    'password_sign_in_disabled',
    ...PASSWORD_REFUSALS,
  )
  @Post('login')
  @BodyLimits()
  @HttpCode(200)
  @ApiOkResponse({ type: TokenResponse })
  async login(
    @Body() { username, password }: LoginDto,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
  ): Promise<TokenResponse> {
    return toTokenResponse(await this.signIn.signIn(username, password, client, signal));
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
  @HttpCode(200)
  @ApiOkResponse({ type: TokenResponse })
  async refresh(@Body() body: RefreshDto, @CurrentClient() client: Client): Promise<TokenResponse> {
    return toTokenResponse(await this.sessions.refresh(body.refresh_token, client));
  }

  @BeforePasswordChange()
  @OpenToTokens(...TOKEN_SCOPES)
  @ApiRoute('getOwnAccount', 'The own account')
  @Get('me')
  @ApiBearerAuth('access-token')
  @ApiOkResponse({ type: UserResponse })
  me(@Req() { user: { account } }: AdmittedRequest): UserResponse {
    return toUserResponse(account);
  }
}
