import { ApiProperty } from '@nestjs/swagger';
import { anyText, TextRule, WITHOUT_NUL } from '../platform/validation.js';
import { emailProblem } from '../users/domain/email.js';
import { usernameProblem } from '../users/domain/username.js';
import { passwordCharacterProblem, passwordProblem } from './domain/password.js';
import type { TokenPair } from './tokens.service.js';

export const NEW_PASSWORD = {
  minLength: 8,
  maxLength: 128,
  pattern: WITHOUT_NUL,
  description: 'Counted in code points, taken exactly as received.',
};

/** Source document 2.1. */
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

/** Source document 2.3. Only texts that cannot be stored are refused by form: unknown users get 401, not 400. */
export class LoginDto {
  @ApiProperty({ pattern: WITHOUT_NUL, description: 'In any case.' })
  @TextRule(passwordCharacterProblem)
  username!: string;

  @ApiProperty({ pattern: WITHOUT_NUL })
  @TextRule(passwordCharacterProblem)
  password!: string;
}

/** Source document 2.5. */
export class RefreshDto {
  @ApiProperty()
  @TextRule(anyText)
  refresh_token!: string;
}

/** Source document 2.4. */
export class TokenResponse {
  @ApiProperty()
  access_token!: string;

  @ApiProperty()
  refresh_token!: string;

  @ApiProperty({ enum: ['bearer'] })
  token_type!: 'bearer';
}

export function toTokenResponse({ accessToken, refreshToken }: TokenPair): TokenResponse {
  return { access_token: accessToken, refresh_token: refreshToken, token_type: 'bearer' };
}
