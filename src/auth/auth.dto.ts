import { ApiProperty, IntersectionType, PickType } from '@nestjs/swagger';
import { ApiField, INTEGER, MOMENT, NULLABLE_TEXT, PageResponse } from '../platform/http/api-fields.js';
import { TextRule, WITHOUT_NUL, anyText } from '../platform/http/validation.js';
import {
  type Account,
  emailProblem,
  passwordCharacterProblem,
  passwordProblem,
  type Role,
  ROLES,
  usernameProblem,
} from '../users/domain/account.js';
import type { SessionView } from './domain/session.js';
import type { TokenPair } from './tokens.service.js';

/** Codes with which a request with a password is refused. */
export const PASSWORD_REFUSALS = ['invalid_credentials', 'too_many_requests', 'busy'] as const;
export const SIGN_IN_REFUSALS = ['account_deactivated', 'password_sign_in_disabled', ...PASSWORD_REFUSALS] as const;

export const NEW_PASSWORD = {
  minLength: 8,
  maxLength: 128,
  pattern: WITHOUT_NUL,
  description: 'Counted in code points as received; normalised to NFC and else taken as it is.',
};

export class RegisterDto {
  @ApiProperty({ minLength: 3, maxLength: 64, pattern: '^[a-zA-Z0-9_]+$' })
  @TextRule(usernameProblem)
  username!: string;

  @ApiProperty({ format: 'email', maxLength: 254 })
  @TextRule(emailProblem)
  email!: string;

  @ApiProperty(NEW_PASSWORD)
  @TextRule(passwordProblem)
  password!: string;
}

/** Only texts that no account can have get 400; an unknown user always gets 401. */
export class LoginDto {
  @ApiProperty({ pattern: WITHOUT_NUL, description: 'In any case.' })
  @TextRule(passwordCharacterProblem)
  username!: string;

  @ApiProperty({ pattern: WITHOUT_NUL })
  @TextRule(passwordCharacterProblem)
  password!: string;
}

export class RefreshDto {
  @ApiProperty()
  @TextRule(anyText)
  refresh_token!: string;
}

export class PasswordChangeDto {
  @ApiProperty({ pattern: WITHOUT_NUL })
  @TextRule(passwordCharacterProblem)
  current_password!: string;

  @ApiProperty(NEW_PASSWORD)
  @TextRule(passwordProblem)
  new_password!: string;
}

export class EmailChangeDto extends IntersectionType(
  PickType(RegisterDto, ['email']),
  PickType(PasswordChangeDto, ['current_password']),
) {}

export class TokenResponse {
  @ApiProperty() access_token!: string;
  @ApiProperty() refresh_token!: string;
  @ApiProperty({ enum: ['bearer'] }) token_type!: 'bearer';

  @ApiProperty({ type: 'integer', description: 'Seconds until the access token expires (RFC 6749 section 5.1).' })
  expires_in!: number;
}

export function toTokenResponse({ accessToken, refreshToken, expiresIn }: TokenPair): TokenResponse {
  return { access_token: accessToken, refresh_token: refreshToken, token_type: 'bearer', expires_in: expiresIn };
}

export class SignOutResponse {
  @ApiProperty({ format: 'uri', description: 'Where the browser goes to sign out at the identity provider, too.' })
  sign_out_url!: string;
}

export class OneTimePasswordResponse {
  @ApiProperty({ description: 'Shown here and never again. It opens nothing but POST /api/auth/password.' })
  one_time_password!: string;

  @ApiField(MOMENT, 'Until when it can be used to sign in.') expires_at!: string;
  @ApiField(INTEGER, 'API tokens of the account, which ended with the former password.') revoked_tokens!: number;
}

export class RevokedTokensResponse extends PickType(OneTimePasswordResponse, ['revoked_tokens']) {}

export class UserResponse {
  @ApiProperty({ ...INTEGER, example: 12 }) id!: number;
  @ApiProperty({ example: 'alice' }) username!: string;

  @ApiProperty({
    example: 'alice@example.org',
    description: 'Empty for an account without one, which cannot register.',
  })
  email!: string;

  @ApiProperty({ enum: ROLES }) role!: Role;
  @ApiProperty() is_active!: boolean;
  @ApiProperty({ ...MOMENT, example: '2026-11-20T12:00:00.000Z' }) created_at!: string;
}

export function toUserResponse({ id, username, email, role, isActive, createdAt }: Account): UserResponse {
  // `email` is always a string here, because clients rely on it. The administrators' routes answer null for none.
  return { id, username, email: email ?? '', role, is_active: isActive, created_at: createdAt.toISOString() };
}

export class SessionResponse {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty(MOMENT) created_at!: string;
  @ApiField(MOMENT, 'When it was started or last refreshed.') last_used_at!: string;
  @ApiField(MOMENT, 'However often it is refreshed, it ends then.') expires_at!: string;
  @ApiProperty(NULLABLE_TEXT) user_agent!: string | null;
  @ApiProperty() address!: string;
  @ApiProperty({ description: 'The session of this request.' }) current!: boolean;
}

export class SessionPage extends PageResponse(SessionResponse) {}

export function toSessionResponse(session: SessionView, currentId: string): SessionResponse {
  return {
    id: session.id,
    created_at: session.createdAt.toISOString(),
    last_used_at: session.lastUsedAt.toISOString(),
    expires_at: session.expiresAt.toISOString(),
    user_agent: session.userAgent,
    address: session.address,
    current: session.id === currentId,
  };
}
