import { ApiProperty } from '@nestjs/swagger';
import { MOMENT, NULLABLE_TEXT, PageResponse } from '../platform/api-fields.js';
import type { SessionView } from './domain/session.js';

export class SessionResponse {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty(MOMENT) created_at!: string;
  @ApiProperty({ ...MOMENT, description: 'When it was started or last refreshed.' }) last_used_at!: string;
  @ApiProperty({ ...MOMENT, description: 'However often it is refreshed, it ends then.' }) expires_at!: string;
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
