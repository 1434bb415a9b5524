import { Body, Controller, HttpCode, Patch, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiNoContentResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { Refused } from '../kernel/errors.js';
import {
  BeforePasswordChange,
  type Client,
  CurrentClient,
  type AuthenticatedUser,
  CurrentUser,
  UntilClientGone,
} from '../platform/access.js';
import { ApiProblems } from '../platform/openapi.js';
import { EmailChangeDto, PasswordChangeDto } from './passwords.dto.js';
import { PasswordsService } from './passwords.service.js';
import { toUserResponse, UserResponse } from './user-response.js';

@ApiTags('auth')
@ApiBearerAuth('access-token')
@Controller('api/auth')
export class PasswordsController {
  constructor(private readonly passwords: PasswordsService) {}

  @BeforePasswordChange()
  @ApiProblems('invalid_credentials', 'too_many_requests', 'busy')
  @Post('password')
  @HttpCode(204)
  @ApiNoContentResponse()
  async changePassword(
    @CurrentUser() user: AuthenticatedUser,
    @Body() body: PasswordChangeDto,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
  ): Promise<void> {
    const passwords = { current: body.current_password, next: body.new_password };
    const change = await this.passwords.changePassword(user, passwords, client, signal);
    switch (change.kind) {
      case 'changed':
        return;
      case 'same-password':
        throw new Refused('validation_failed', {
          errors: [{ field: 'new_password', message: 'must not be the current one' }],
        });
      case 'wrong-password':
        throw new Refused('invalid_credentials', { detail: 'The current password is another one.' });
      case 'deactivated':
        throw new Refused('token_invalid');
      case 'throttled':
        throw new Refused('too_many_requests', change);
    }
  }

  @ApiProblems('invalid_credentials', 'email_taken', 'too_many_requests', 'busy')
  @Patch('me')
  @ApiOkResponse({ type: UserResponse })
  async changeEmail(
    @CurrentUser() user: AuthenticatedUser,
    @Body() body: EmailChangeDto,
    @CurrentClient() client: Client,
    @UntilClientGone() signal: AbortSignal,
  ): Promise<UserResponse> {
    const wanted = { email: body.email, currentPassword: body.current_password };
    const change = await this.passwords.changeEmail(user, wanted, client, signal);
    switch (change.kind) {
      case 'changed':
        return toUserResponse(change.account);
      case 'email-taken':
        throw new Refused('email_taken');
      case 'wrong-password':
        throw new Refused('invalid_credentials', { detail: 'The current password is another one.' });
      case 'deactivated':
        throw new Refused('token_invalid');
      case 'throttled':
        throw new Refused('too_many_requests', change);
    }
  }
}
