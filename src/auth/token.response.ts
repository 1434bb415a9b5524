import { ApiProperty } from '@nestjs/swagger';
import type { TokenPair } from './tokens.service.js';

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
