import { ApiProperty } from '@nestjs/swagger';
import { TextRule, WITHOUT_NUL } from '../platform/validation.js';
import { emailProblem } from '../users/domain/email.js';
import { NEW_PASSWORD } from './auth.dto.js';
import { passwordCharacterProblem, passwordProblem } from './domain/password.js';

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

  @ApiProperty({ format: 'date-time', description: 'Until when it can be used to sign in.' })
  expires_at!: string;
}
