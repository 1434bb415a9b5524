import { ApiProperty } from '@nestjs/swagger';
import { ApiNullable, INTEGER } from '../platform/http/api-fields.js';
import { passwordCharacterProblem, type Role, ROLES } from '../users/domain/account.js';
import { TextRule, WITHOUT_NUL } from '../platform/http/validation.js';

export class ConsoleSignInDto {
  @ApiProperty({ pattern: WITHOUT_NUL, description: 'In any case.' })
  @TextRule(passwordCharacterProblem)
  username!: string;

  @ApiProperty({ pattern: WITHOUT_NUL })
  @TextRule(passwordCharacterProblem)
  password!: string;
}

export class ConfirmationDto {
  @ApiProperty({ pattern: WITHOUT_NUL })
  @TextRule(passwordCharacterProblem)
  password!: string;
}

export class ConsoleAccountResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() username!: string;
  @ApiProperty({ enum: ROLES }) role!: Role;
  @ApiProperty({ description: 'False: the person signs in, and confirms, at the identity provider.' })
  has_password!: boolean;
  @ApiProperty({ description: 'Whether the last proof of who it is is recent enough for what asks for one.' })
  is_confirmed!: boolean;
}

/** The first answer that the page needs. */
export class ConsoleStartResponse {
  @ApiNullable(ConsoleAccountResponse, 'Of the cookie; null: nobody is signed in.')
  account!: ConsoleAccountResponse | null;

  @ApiProperty({ description: 'False: nobody can grant anything yet.' }) has_administrator!: boolean;
}
