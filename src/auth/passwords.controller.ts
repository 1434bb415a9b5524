import { Body, Controller, Patch, Post, Res } from '@nestjs/common';
import { ApiBearerAuth, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { Refused } from '../kernel/errors.js';
import {
  BeforePasswordChange,
  type Client,
  CurrentClient,
  type AuthenticatedUser,
  CurrentUser,
  UntilClientGone,
} from '../platform/access.js';
import { BodyLimits } from '../platform/http/body-limits.js';
import { ApiRoute, NoContent } from '../platform/openapi.js';
import {
  EmailChangeDto,
  PASSWORD_REFUSALS,
  PasswordChangeDto,
  RevokedTokensResponse,
  toUserResponse,
  UserResponse,
} from './auth.dto.js';
import type { TokenFault } from './domain/claims.js';
import { type FailedProof, PasswordsService } from './passwords.service.js';

@ApiTags('auth')
@ApiBearerAuth('access-token')
@Controller('api/auth')
export class PasswordsController {
  constructor(private readonly passwords: PasswordsService) {}

  @BeforePasswordChange()
  @ApiRoute(
    'changePassword',
    'Change the own password; ends the other sessions and all API tokens',
    ...PASSWORD_REFUSALS,
  )
  @Post('password')
  @BodyLimits()
  @NoContent()
  @ApiOkResponse({ type: RevokedTokensResponse, description: 'API tokens were revoked, too.' })
  async changePassword(
    @CurrentUser() user: AuthenticatedUser,
    @Body() body: PasswordChangeDto,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<RevokedTokensResponse | undefined> {
    const passwords = { current: body.current_password, next: body.new_password };
    const change = await this.passwords.changePassword(user, passwords, client, signal);
    if (change.kind === 'same-password') {
      throw new Refused('validation_failed', {
        errors: [{ field: 'new_password', message: 'must not be the current one' }],
      });
    }
    if (change.kind !== 'changed') throw refusalOf(change);
    if (change.revokedTokens === 0) return undefined;
    void reply.status(200);
    return { revoked_tokens: change.revokedTokens };
  }

  @ApiRoute('changeEmail', 'Change the own e-mail address', 'email_taken', ...PASSWORD_REFUSALS)
  @Patch('me')
  @BodyLimits()
  @ApiOkResponse({ type: UserResponse })
  async changeEmail(
    @CurrentUser() user: AuthenticatedUser,
    @Body() body: EmailChangeDto,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
  ): Promise<UserResponse> {
    const wanted = { email: body.email, currentPassword: body.current_password };
    const change = await this.passwords.changeEmail(user, wanted, client, signal);
    if (change.kind === 'email-taken') throw new Refused('email_taken');
    if (change.kind !== 'changed') throw refusalOf(change);
    return toUserResponse(change.account);
  }
}

function refusalOf(failed: FailedProof): Refused {
  switch (failed.kind) {
    case 'wrong-password':
      return new Refused('invalid_credentials', { detail: 'The current password is another one.' });
    case 'deactivated':
      return new Refused('token_invalid', { reason: 'session-ended' satisfies TokenFault });
    case 'throttled':
      return new Refused('too_many_requests', failed);
  }
}
