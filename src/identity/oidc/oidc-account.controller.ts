import { Body, Controller, Delete, Get, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditContext } from '../../audit/domain/audit-event.js';
import { PASSWORD_REFUSALS } from '../../auth/auth.dto.js';
import { PasswordsService } from '../../auth/passwords.service.js';
import { SessionsService } from '../../auth/sessions.service.js';
import {
  AdministratorsOnly,
  type AuthenticatedUser,
  type Client,
  CurrentAuditContext,
  CurrentClient,
  CurrentUser,
} from '../../platform/http/access.js';
import { BodyLimits } from '../../platform/http/body-limits.js';
import { cookiesOf } from '../../auth/domain/browser-cookie.js';
import { Answers, ApiRoute, NoContent } from '../../platform/http/openapi.js';
import { RowIdPipe } from '../../platform/http/parameters.js';
import { Settings } from '../../platform/settings/settings.js';
import { OidcAccountService } from './oidc-account.service.js';
import { requireOidc } from './identity-provider.js';
import {
  ConfirmUrlResponse,
  LinkDto,
  LinkResponse,
  LinkUrlResponse,
  ProviderConfirmationDto,
  toLinkResponse,
} from './oidc.dto.js';

/** Routes for signed-in people: they confirm a session at the identity provider, and link accounts to people of the provider. */
@ApiTags('auth')
@Controller('api')
export class OidcAccountController {
  constructor(
    private readonly settings: Settings,
    private readonly accounts: OidcAccountService,
    private readonly passwords: PasswordsService,
    private readonly sessions: SessionsService,
  ) {}

  @ApiBearerAuth('access-token')
  @ApiRoute(
    'confirmAtProvider',
    'Begin a new sign-in at the identity provider, as a recent proof for this session',
    'not_found',
    'provider_unavailable',
  )
  @Post('auth/oidc/confirm')
  @BodyLimits()
  @Answers(ConfirmUrlResponse)
  async confirm(
    @CurrentUser() user: AuthenticatedUser,
    @Body() { to }: ProviderConfirmationDto,
    @Req() { headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConfirmUrlResponse> {
    const { location, cookies } = await this.accounts.beginConfirmation(user, to, cookiesOf(headers.cookie));
    void reply.header('Set-Cookie', cookies);
    return { confirm_url: location };
  }

  @ApiBearerAuth('access-token')
  @ApiRoute('getOwnLink', 'The link of the own account to a person at the identity provider', 'not_found')
  @Get('auth/oidc/link')
  @Answers(LinkResponse)
  async ownLink(@CurrentUser() { id }: AuthenticatedUser): Promise<LinkResponse> {
    return toLinkResponse(await this.accounts.linkOf(id));
  }

  @ApiBearerAuth('access-token')
  @ApiRoute(
    'linkAtProvider',
    'Begin to link the own account to a person at the identity provider',
    'not_found',
    'already_linked',
    'provider_unavailable',
    ...PASSWORD_REFUSALS,
  )
  @Post('auth/oidc/link')
  @BodyLimits()
  @Answers(LinkUrlResponse)
  async link(
    @CurrentUser() user: AuthenticatedUser,
    @Body() { current_password }: LinkDto,
    @CurrentClient() client: Client,
    @Req() { headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<LinkUrlResponse> {
    requireOidc(this.settings);
    await this.passwords.confirm(user, current_password, client);
    const { location, cookies } = await this.accounts.beginLink(user, cookiesOf(headers.cookie));
    void reply.header('Set-Cookie', cookies);
    return { link_url: location };
  }

  @ApiBearerAuth('access-token')
  @ApiRoute(
    'unlinkOwn',
    'Unlink the own account; ends its sessions that began at the provider',
    'not_found',
    'last_way_in',
  )
  @Delete('auth/oidc/link')
  @NoContent()
  unlink(
    @CurrentUser() { id }: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
    @CurrentClient() client: Client,
  ): Promise<void> {
    return this.accounts.unlinkOwn(id, context, client);
  }

  @AdministratorsOnly()
  @ApiRoute('getUserLink', 'The link of an account to a person at the identity provider')
  @Get('admin/users/:id/link')
  @Answers(LinkResponse)
  async linkOfUser(@Param('id', RowIdPipe) id: number): Promise<LinkResponse> {
    return toLinkResponse(await this.accounts.linkOf(id));
  }

  /** Unlinks an account. An account without a password then goes to the next person who signs in with the account's name. */
  @AdministratorsOnly()
  @ApiRoute(
    'unlinkUser',
    'Unlink an account; ends its sessions that began at the provider',
    'reauthentication_required',
  )
  @Delete('admin/users/:id/link')
  @NoContent()
  async unlinkUser(
    @Param('id', RowIdPipe) id: number,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
    @CurrentClient() client: Client,
  ): Promise<void> {
    this.sessions.requireRecentProof(user);
    return this.accounts.unlink(id, context, client);
  }
}
