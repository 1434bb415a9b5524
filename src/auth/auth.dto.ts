import { ApiProperty } from '@nestjs/swagger';
import { INTEGER, MOMENT } from '../platform/api-fields.js';
import { TextRule, WITHOUT_NUL, anyText } from '../platform/validation.js';
import { type Account, type Role, ROLES, emailProblem } from '../users/domain/account.js';
import { usernameProblem } from '../users/domain/account-name.js';
import { passwordCharacterProblem, passwordProblem } from './domain/password.js';

/** Codes of requests with a password that are refused. */
export const PASSWORD_REFUSALS = ['invalid_credentials', 'too_many_requests', 'busy'] as const;

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

/** Only texts that cannot be stored are refused by form: unknown users get 401, not 400. */
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

export class EmailChangeDto {
  @ApiProperty({ format: 'email', maxLength: 254 })
  @TextRule(emailProblem)
  email!: string;

  @ApiProperty({ pattern: WITHOUT_NUL })
  @TextRule(passwordCharacterProblem)
  current_password!: string;
}

export class OneTimePasswordResponse {
  @ApiProperty({ description: 'Shown here and never again. It opens nothing but POST /api/auth/password.' })
  one_time_password!: string;

  @ApiProperty({ ...MOMENT, description: 'Until when it can be used to sign in.' }) expires_at!: string;
  @ApiProperty({ ...INTEGER, description: 'API tokens of the account, which ended with the former password.' })
  revoked_tokens!: number;
}

export class RevokedTokensResponse {
  @ApiProperty({ ...INTEGER, description: 'API tokens of the account, which ended with the former password.' })
  revoked_tokens!: number;
}

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
  // Always a string, which clients rely on; administrators see null.
  return { id, username, email: email ?? '', role, is_active: isActive, created_at: createdAt.toISOString() };
}
