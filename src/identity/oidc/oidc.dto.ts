import { ApiProperty, ApiPropertyOptional, OmitType, PickType } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { PasswordChangeDto, TokenResponse } from '../../auth/auth.dto.js';
import { ApiField, NULLABLE_MOMENT, NULLABLE_TEXT } from '../../platform/http/api-fields.js';
import { anyText, FieldRule, TextRule } from '../../platform/http/validation.js';
import { PAGE_PATH, pagePathProblem, verifierProblem } from './domain/flow.js';
import type { Link } from './domain/provider-session.js';

export class StartQuery {
  @ApiProperty({
    format: 'uri-reference',
    maxLength: 1000,
    description:
      'An address of AUTH_OIDC_RETURN_ORIGINS or at one of its origins, without a fragment; or a page of the console, such as /me.',
  })
  @TextRule(anyText)
  return_to!: string;

  @ApiPropertyOptional({
    pattern: '^[A-Za-z0-9_-]{43}$',
    description:
      "The web client's own challenge: the SHA-256 of its verifier in base64url (RFC 7636, S256). The console has none.",
  })
  @IsOptional()
  @Matches(/^[\w-]{43}$/, { message: 'must be the SHA-256 of the verifier in base64url, without padding' })
  code_challenge?: string;

  @ApiPropertyOptional({ enum: ['0'], description: 'Asks for a new sign-in, which counts as a recent proof.' })
  @FieldRule((age) => (age === undefined || age === '0' ? null : 'must be 0'))
  max_age?: string;
}

export class ConsoleStartQuery {
  @ApiPropertyOptional({
    maxLength: 1000,
    pattern: PAGE_PATH,
    default: '/',
    description: 'The page to open afterwards.',
  })
  @FieldRule((to) => (to === undefined ? null : typeof to === 'string' ? pagePathProblem(to) : 'must be given once'))
  to?: string;
}

export class ProviderConfirmationDto {
  @ApiProperty({ maxLength: 1000, pattern: PAGE_PATH, description: 'The page of the console to return to.' })
  @TextRule(pagePathProblem)
  to!: string;
}

export class ConfirmUrlResponse {
  @ApiProperty({ format: 'uri', description: 'The address at which the browser signs in at the provider once more.' })
  confirm_url!: string;
}

export class LinkDto extends PickType(PasswordChangeDto, ['current_password']) {}

export class LinkUrlResponse {
  @ApiProperty({ format: 'uri', description: 'The address at which the person to link signs in at the provider.' })
  link_url!: string;
}

export class LinkResponse {
  @ApiField(NULLABLE_MOMENT, 'Time of the link. Null: the account is not linked.') linked_at!: string | null;
  @ApiField(NULLABLE_TEXT, 'The issuer URL of the provider.') issuer!: string | null;
  @ApiField(NULLABLE_TEXT, 'The id of the person at the provider.') subject!: string | null;
}

export function toLinkResponse(link: Link | null): LinkResponse {
  return {
    linked_at: link?.linkedAt.toISOString() ?? null,
    issuer: link?.issuer ?? null,
    subject: link?.subject ?? null,
  };
}

export class CodeDto {
  @ApiProperty({ description: 'The parameter `code` of the return address. Valid once, for 60 seconds.' })
  @TextRule(anyText)
  code!: string;

  @ApiProperty({ minLength: 43, maxLength: 128, pattern: '^[A-Za-z0-9._~-]+$', description: 'RFC 7636 section 4.1.' })
  @TextRule(verifierProblem)
  code_verifier!: string;
}

/** The most characters of a token. A token with 200 groups has about 9,000. */
const MAX_TOKEN_LENGTH = 20_480;

export class ExchangeDto {
  @ApiProperty({
    maxLength: MAX_TOKEN_LENGTH,
    description: 'An ID or access token of the person: a JWT issued in the last ten minutes.',
  })
  @TextRule((token) => (token.length <= MAX_TOKEN_LENGTH ? null : `must have at most ${MAX_TOKEN_LENGTH} characters`))
  token!: string;
}

/** A TokenResponse without a refresh token, because the client can exchange the provider's next token instead. */
export class ExchangeResponse extends OmitType(TokenResponse, ['refresh_token']) {}

/** OpenAPI schema of a logout form, which may have further fields (OpenID Connect Back-Channel Logout 1.0 section 2.5). */
export const LOGOUT_FORM = {
  type: 'object',
  required: ['logout_token'],
  properties: { logout_token: { type: 'string' } },
};

export class ProviderResponse {
  @ApiProperty() enabled!: boolean;
  @ApiProperty({ ...NULLABLE_TEXT, example: 'sso.example.org', description: 'Host of the provider. Null: none.' })
  name!: string | null;
  @ApiField(NULLABLE_TEXT, 'The address that begins a sign-in of a web client.') start_url!: string | null;
  @ApiProperty({ description: 'Whether everybody may sign in with a password. False: only administrators may.' })
  password_sign_in!: boolean;
}
