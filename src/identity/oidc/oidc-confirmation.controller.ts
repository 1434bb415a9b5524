import { Body, Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type AuthenticatedUser, CurrentUser } from '../../platform/access.js';
import { BodyLimits } from '../../platform/http/body-limits.js';
import { cookiesOf } from '../../platform/domain/cookies.js';
import { ApiRoute } from '../../platform/openapi.js';
import { OidcConfirmationsService } from './oidc-confirmations.service.js';
import { ConfirmUrlResponse, ProviderConfirmationDto } from './oidc.dto.js';

/** Beside OidcController, whose routes are all public. */
@ApiTags('auth')
@ApiBearerAuth('access-token')
@Controller('api/auth/oidc/confirm')
export class OidcConfirmationController {
  constructor(private readonly confirmations: OidcConfirmationsService) {}

  @ApiRoute(
    'confirmAtProvider',
    'Sign in at the identity provider once more, before what asks for a recent proof',
    'not_found',
    'provider_unavailable',
  )
  @Post()
  @BodyLimits()
  @HttpCode(200)
  @ApiOkResponse({ type: ConfirmUrlResponse })
  async confirm(
    @CurrentUser() user: AuthenticatedUser,
    @Body() { to }: ProviderConfirmationDto,
    @Req() { headers }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ConfirmUrlResponse> {
    const { location, cookies } = await this.confirmations.begin(user, to, cookiesOf(headers.cookie));
    void reply.header('Set-Cookie', cookies);
    return { confirm_url: location };
  }
}
