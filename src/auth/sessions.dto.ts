import { ApiProperty } from '@nestjs/swagger';
import type { Page } from '../kernel/page.js';
import type { SessionView } from './domain/session.js';

export class SessionResponse {
  @ApiProperty({ format: 'uuid' })
  id!: string;

  @ApiProperty({ format: 'date-time' })
  created_at!: string;

  @ApiProperty({ format: 'date-time', description: 'When it was started or last refreshed.' })
  last_used_at!: string;

  @ApiProperty({ format: 'date-time', description: 'However often it is refreshed, it ends then.' })
  expires_at!: string;

  @ApiProperty({ type: String, nullable: true })
  user_agent!: string | null;

  @ApiProperty()
  address!: string;

  @ApiProperty({ description: 'The session of this request.' })
  current!: boolean;
}

export class SessionPage {
  @ApiProperty({ type: [SessionResponse] })
  items!: SessionResponse[];

  @ApiProperty({ type: String, nullable: true })
  next!: string | null;
}

export function toSessionPage({ items, next }: Page<SessionView>, currentId: string): SessionPage {
  return { items: items.map((session) => toSessionResponse(session, currentId)), next };
}

function toSessionResponse(session: SessionView, currentId: string): SessionResponse {
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
