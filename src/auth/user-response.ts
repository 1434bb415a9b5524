import { ApiProperty } from '@nestjs/swagger';
import { type Account, type Role, ROLES } from '../users/domain/account.js';

/** Source document 2.2. */
export class UserResponse {
  @ApiProperty({ type: 'integer', example: 12 })
  id!: number;

  @ApiProperty({ example: 'alice' })
  username!: string;

  @ApiProperty({ example: 'alice@example.org' })
  email!: string;

  @ApiProperty({ enum: ROLES })
  role!: Role;

  @ApiProperty()
  is_active!: boolean;

  @ApiProperty({ type: String, format: 'date-time', example: '2026-11-20T12:00:00.000Z' })
  created_at!: string;
}

export function toUserResponse({ id, username, email, role, isActive, createdAt }: Account): UserResponse {
  return { id, username, email, role, is_active: isActive, created_at: createdAt.toISOString() };
}
