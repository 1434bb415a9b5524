import { ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsOptional, ValidateIf } from 'class-validator';
import { PageResponse } from '../platform/api-fields.js';
import { PageQuery } from '../platform/page.dto.js';
import { TextRule, WITHOUT_NUL } from '../platform/validation.js';
import { type Role, ROLES, type UserFilter } from '../users/domain/account.js';
import { UserResponse } from './auth.dto.js';

const ONE_ROLE = { message: `must be one of ${ROLES.join(', ')}` };

export class UserQuery extends PageQuery {
  @ApiPropertyOptional({
    maxLength: 254,
    pattern: WITHOUT_NUL,
    description: 'Part of the username or the e-mail address, in any case.',
  })
  @IsOptional()
  @TextRule(searchProblem)
  q?: string;

  @ApiPropertyOptional({ enum: ROLES })
  @IsOptional()
  @IsIn(ROLES, ONE_ROLE)
  role?: Role;

  @ApiPropertyOptional({ type: Boolean })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsOptional()
  @IsBoolean({ message: 'must be true or false' })
  is_active?: boolean;
}

export class UserChangeDto {
  @ApiPropertyOptional()
  @ValidateIf(({ is_active }: UserChangeDto) => is_active !== undefined)
  @IsBoolean({ message: 'must be true or false' })
  is_active?: boolean;

  @ApiPropertyOptional({ enum: ROLES })
  @ValidateIf(({ role }: UserChangeDto) => role !== undefined)
  @IsIn(ROLES, ONE_ROLE)
  role?: Role;
}

export class UserPage extends PageResponse(UserResponse) {}

function searchProblem(text: string): string | null {
  return text.length > 254 || text.includes('\0') ? 'must be a text of at most 254 characters, without NUL' : null;
}

export function toFilter({ q, role, is_active }: UserQuery): UserFilter {
  return { text: q ?? null, role: role ?? null, isActive: is_active ?? null };
}

export function toChange({ is_active, role }: UserChangeDto): { isActive?: boolean; role?: Role } {
  return { ...(is_active === undefined ? {} : { isActive: is_active }), ...(role === undefined ? {} : { role }) };
}
