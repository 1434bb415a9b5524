import { ApiProperty, PickType } from '@nestjs/swagger';
import { LoginDto } from '../auth/auth.dto.js';
import { ApiNullable, INTEGER } from '../platform/http/api-fields.js';
import { type Role, ROLES } from '../users/domain/account.js';

export class ConsoleSignInDto extends LoginDto {}

export class ConfirmationDto extends PickType(LoginDto, ['password']) {}

export class ConsoleAccountResponse {
  @ApiProperty(INTEGER) id!: number;
  @ApiProperty() username!: string;
  @ApiProperty({ enum: ROLES }) role!: Role;
  @ApiProperty({ description: 'False: the person signs in and confirms actions at the identity provider.' })
  has_password!: boolean;
  @ApiProperty({ description: 'Whether the last proof of identity is recent enough for actions that require one.' })
  is_confirmed!: boolean;
}

/** The answer to the first request of the console's page. */
export class ConsoleStartResponse {
  @ApiNullable(ConsoleAccountResponse, 'The account that the cookie belongs to; null: nobody is signed in.')
  account!: ConsoleAccountResponse | null;

  @ApiProperty({ description: 'False: nobody can grant anything yet.' })
  has_administrator!: boolean;
}
