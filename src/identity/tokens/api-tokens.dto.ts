import { ApiProperty } from '@nestjs/swagger';
import { ArrayNotEmpty, ArrayUnique, IsArray, IsIn } from 'class-validator';
import { nameProblem } from '../../kernel/name.js';
import { MOMENT, NULLABLE_MOMENT } from '../../platform/http/api-fields.js';
import { TOKEN_SCOPES, type TokenScope } from '../../kernel/token-scope.js';
import { FieldRule, momentProblem, TextRule } from '../../platform/http/validation.js';
import { type ApiToken, MOST_TOKENS, type WantedToken } from './domain/api-token.js';

export class NewApiTokenDto {
  @ApiProperty({ minLength: 1, maxLength: 128, description: 'What it is for: the audit trail names it.' })
  @TextRule(nameProblem)
  name!: string;

  @ApiProperty({ enum: TOKEN_SCOPES, isArray: true, minItems: 1, uniqueItems: true })
  @IsArray({ message: 'must be a list' })
  @ArrayNotEmpty({ message: 'must name at least one scope' })
  @ArrayUnique({ message: 'must name each scope once' })
  @IsIn(TOKEN_SCOPES, { each: true, message: `must be among ${TOKEN_SCOPES.join(', ')}` })
  scopes!: TokenScope[];

  @ApiProperty({ ...MOMENT, description: 'At most AUTH_TOKEN_MAX_DAYS from now.' })
  @FieldRule((moment) => (moment === undefined ? 'is required' : momentProblem(moment)))
  expires_at!: string;
}

export class ApiTokenResponse {
  @ApiProperty({ description: 'Part of the token, so that one that is found can be named.' }) id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ enum: TOKEN_SCOPES, isArray: true }) scopes!: readonly TokenScope[];
  @ApiProperty(MOMENT) created_at!: string;
  @ApiProperty(MOMENT) expires_at!: string;
  @ApiProperty({ ...NULLABLE_MOMENT, description: 'To the minute; null: never.' }) last_used_at!: string | null;
}

export class NewApiTokenResponse extends ApiTokenResponse {
  @ApiProperty({ pattern: '^glt_[0-9A-Za-z]{57}$', description: 'Shown this once.' }) token!: string;
}

export class ApiTokenList {
  @ApiProperty({ type: [ApiTokenResponse], maxItems: MOST_TOKENS }) items!: ApiTokenResponse[];
}

export function toWantedToken({ name, scopes, expires_at }: NewApiTokenDto): WantedToken {
  return { name, scopes, expiresAt: new Date(expires_at) };
}

export function toNewApiTokenResponse(token: ApiToken, text: string): NewApiTokenResponse {
  return { ...fieldsOf(token), token: text };
}

export function toApiTokenList(tokens: readonly ApiToken[]): ApiTokenList {
  return { items: tokens.map(fieldsOf) };
}

function fieldsOf({ id, name, scopes, createdAt, expiresAt, lastUsedAt }: ApiToken) {
  return {
    id,
    name,
    scopes,
    created_at: createdAt.toISOString(),
    expires_at: expiresAt.toISOString(),
    last_used_at: lastUsedAt?.toISOString() ?? null,
  };
}
