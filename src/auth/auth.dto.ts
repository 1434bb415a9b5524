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

export const PASSWORD_REFUSALS = ['invalid_credentials', 'too_many_requests', 'busy'] as const;
export const SIGN_IN_REFUSALS = ['account_deactivated', 'password_sign_in_disabled', ...PASSWORD_REFUSALS] as const;

export const NEW_PASSWORD = {
  minLength: 8,
  maxLength: 128,
  pattern: WITHOUT_NUL,
  description: 'Length in code points as received. The password is normalised to NFC and not changed otherwise.',
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

/** The body of a login. A name or password that no account can have gets 400; an unknown user or a wrong password always gets 401. */
export class LoginDto {
  @ApiProperty({ pattern: WITHOUT_NUL, description: 'Upper and lower case are equal.' })
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
  @ApiProperty({ format: 'uri', description: 'Address at which the browser signs out of the identity provider, too.' })
  sign_out_url!: string;
}

export class OneTimePasswordResponse {
  @ApiProperty({ description: 'Shown once. Signing in with it opens only the change of password, `me` and logout.' })
  one_time_password!: string;

  @ApiField(MOMENT, 'End of the time in which it can be used to sign in.') expires_at!: string;
  @ApiField(INTEGER, 'Number of API tokens that were revoked with the former password.') revoked_tokens!: number;
}

export class RevokedTokensResponse extends PickType(OneTimePasswordResponse, ['revoked_tokens']) {}

export class UserResponse {
  @ApiProperty({ ...INTEGER, example: 12 }) id!: number;
  @ApiProperty({ example: 'alice' }) username!: string;

  @ApiProperty({
    example: 'alice@example.org',
    description: 'Empty for an account that was created without an address.',
  })
  email!: string;

  @ApiProperty({ enum: ROLES }) role!: Role;
  @ApiProperty() is_active!: boolean;
  @ApiProperty({ ...MOMENT, example: '2026-11-20T12:00:00.000Z' }) created_at!: string;
}

export function toUserResponse({ id, username, email, role, isActive, createdAt }: Account): UserResponse {
  // A missing address is an empty string, because clients rely on a string here. The administrators' routes return null.
  return { id, username, email: email ?? '', role, is_active: isActive, created_at: createdAt.toISOString() };
}

export class SessionResponse {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty(MOMENT) created_at!: string;
  @ApiField(MOMENT, 'Last use of a console session; otherwise the last refresh.') last_used_at!: string;
  @ApiField(MOMENT, 'End of the session. Refreshing does not extend it.') expires_at!: string;
  @ApiProperty(NULLABLE_TEXT) user_agent!: string | null;
  @ApiProperty() address!: string;
  @ApiProperty({ description: 'Whether this request belongs to the session.' }) current!: boolean;
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
