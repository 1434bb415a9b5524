import { Body, Controller, Get, HttpCode, Post, Query, Req, Res } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiFoundResponse, ApiOkResponse, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TokenResponse, toTokenResponse } from '../../auth/auth.dto.js';
import { Refused } from '../../kernel/errors.js';
import { type Client, CurrentClient, Public } from '../../platform/http/access.js';
import { BodyLimits, FORM_TYPE } from '../../platform/http/body-limits.js';
import { cookiesOf } from '../../auth/domain/browser-cookie.js';
import { Answers, ApiRoute } from '../../platform/http/openapi.js';
import { Settings } from '../../platform/settings/settings.js';
import { EXCHANGE_FAILURES } from './domain/claims.js';
import { consoleReturnAddress, pagePathProblem, returnAddressProblem } from './domain/flow.js';
import { OidcSessionsService } from './oidc-sessions.service.js';
import { requireOidc } from './identity-provider.js';
import type { Redirect } from './oidc-flows.service.js';
import { OidcSignInService } from './oidc-sign-in.service.js';
import {
  CodeDto,
  ConsoleStartQuery,
  ExchangeDto,
  ExchangeResponse,
  LOGOUT_FORM,
  ProviderResponse,
  StartQuery,
} from './oidc.dto.js';

const START_PATH = '/api/auth/oidc/start';

@ApiTags('auth')
@Public()
@Controller('api/auth/oidc')
export class OidcController {
  constructor(
    private readonly settings: Settings,
    private readonly signIn: OidcSignInService,
    private readonly sessions: OidcSessionsService,
  ) {}

  @ApiRoute('getIdentityProvider', 'The identity provider at which people sign in')
  @Get()
  @Answers(ProviderResponse)
  provider(): ProviderResponse {
    const { oidc, auth } = this.settings;
    const password_sign_in = auth.passwordSignInEnabled;
    if (oidc === null) return { enabled: false, name: null, start_url: null, password_sign_in };
    const name = new URL(oidc.issuer).host;
    return { enabled: true, name, start_url: oidc.publicUrl + START_PATH, password_sign_in };
  }

  @ApiRoute('startSignIn', 'Redirect the browser to the identity provider', 'not_found')
  @Get('start')
  @HttpCode(302)
  @ApiFoundResponse({ description: 'To the provider; or back at once with error= and request_id=.' })
  async start(
    @Query() { return_to, code_challenge, max_age }: StartQuery,
    @Req() { headers }: FastifyRequest,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const returnTarget = this.checkReturnAddress(return_to, code_challenge);
    const cookies = cookiesOf(headers.cookie);
    sendRedirect(reply, await this.signIn.begin({ ...returnTarget, isForced: max_age !== undefined }, cookies, client));
  }

  @ApiRoute('startConsoleSignIn', 'Redirect from the web console to the identity provider', 'not_found')
  @Get('console')
  @HttpCode(302)
  @ApiFoundResponse({ description: 'To the provider; or back at once with error= and request_id=.' })
  async startConsole(
    @Query() { to = '/' }: ConsoleStartQuery,
    @Req() { headers }: FastifyRequest,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    const { publicUrl } = requireOidc(this.settings);
    if (!this.settings.console.enabled) throw new Refused('not_found');
    const returnTarget = { returnTo: consoleReturnAddress(publicUrl, to), challenge: null, isForced: false };
    sendRedirect(reply, await this.signIn.begin(returnTarget, cookiesOf(headers.cookie), client));
  }

  @ApiRoute('finishSignIn', 'The address to which the identity provider redirects after a sign-in', 'not_found')
  @Get('callback')
  @HttpCode(303)
  @ApiResponse({
    status: 303,
    description:
      'To return_to: a web client gets code=, the console a cookie, and a failure adds error= and request_id=. After a sign-out: to /sign-in.',
  })
  async callback(
    @Req() { headers, url, protocol, hostname }: FastifyRequest,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<void> {
    requireOidc(this.settings);
    const answer = new URL(url, 'http://localhost').searchParams;
    if (answer.get('state') === SIGN_OUT_STATE) return void reply.header('Location', '/sign-in');
    const site = { isProduction: this.settings.isProduction, protocol, hostname };
    sendRedirect(reply, await this.signIn.finish(answer, cookiesOf(headers.cookie), { client, site }));
  }

  @ApiRoute(
    'redeemSignInCode',
    'Exchange the code of a sign-in for tokens',
    'not_found',
    'code_invalid',
    'account_deactivated',
  )
  @Post('tokens')
  @BodyLimits()
  @Answers(TokenResponse)
  async redeemCode(@Body() { code, code_verifier }: CodeDto, @CurrentClient() client: Client): Promise<TokenResponse> {
    return toTokenResponse(await this.signIn.redeem(code, code_verifier, client));
  }

  @ApiRoute(
    'exchangeToken',
    'Exchange a token of the identity provider for an access token',
    'not_found',
    'too_many_requests',
    ...EXCHANGE_FAILURES,
  )
  @Post('exchange')
  // A token of the identity provider with 200 groups has 9 kB.
  @BodyLimits({ maxBytes: 24 * 1024 })
  @Answers(ExchangeResponse)
  async exchange(@Body() { token }: ExchangeDto, @CurrentClient() client: Client): Promise<ExchangeResponse> {
    const { refresh_token: _, ...answer } = toTokenResponse(await this.signIn.exchange(token, client));
    return answer;
  }

  @ApiRoute(
    'endSessionsOfProvider',
    'End sessions that ended at the identity provider, which calls this itself',
    'not_found',
    'logout_token_invalid',
    'provider_unavailable',
  )
  @Post('backchannel-logout')
  // Providers send logout tokens in forms only (OpenID Connect Back-Channel Logout 1.0 section 2.5).
  @BodyLimits({ types: [FORM_TYPE] })
  @HttpCode(200)
  @ApiConsumes('application/x-www-form-urlencoded')
  @ApiBody({ schema: LOGOUT_FORM })
  @ApiOkResponse({ description: 'The sessions have ended.' })
  async backchannelLogout(
    @Body() form: Record<string, unknown> | undefined,
    @CurrentClient() client: Client,
  ): Promise<void> {
    const token = form?.['logout_token'];
    await this.sessions.endByProvider(typeof token === 'string' ? token : '', client);
  }

  /** Checks the return address: a page of the console, or an address of a web client, which must also send a challenge. @throws Refused 400 */
  private checkReturnAddress(
    address: string,
    challenge: string | undefined,
  ): { returnTo: string; challenge: string | null } {
    const { publicUrl, returnOrigins } = requireOidc(this.settings);
    if (challenge === undefined && this.settings.console.enabled && pagePathProblem(address) === null) {
      return { returnTo: consoleReturnAddress(publicUrl, address), challenge: null };
    }
    const problem = returnAddressProblem(address, returnOrigins);
    if (problem !== null) throw invalidField('return_to', problem);
    if (challenge === undefined)
      throw invalidField('code_challenge', 'is required where return_to is no page of the console');
    return { returnTo: address, challenge };
  }
}

/** The `state` of the console's sign-outs at the provider. After a sign-out the provider adds this `state` to its redirect to the callback. */
const SIGN_OUT_STATE = 'signed-out';

function sendRedirect(reply: FastifyReply, { location, cookies }: Redirect): void {
  void reply.header('Location', location).header('Set-Cookie', cookies);
}

function invalidField(field: string, message: string): Refused {
  return new Refused('validation_failed', { errors: [{ field, message }] });
}
