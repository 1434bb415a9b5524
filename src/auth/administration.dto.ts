import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsOptional, ValidateIf } from 'class-validator';
import { headerNameWarning } from '../kernel/name.js';
import {
  INTEGER,
  MOMENT,
  NAME,
  NULLABLE_MOMENT,
  NULLABLE_TEXT,
  PageResponse,
  TEXTS,
} from '../platform/http/api-fields.js';
import { PageQuery, SearchText } from '../platform/http/page.dto.js';
import { absentOr, FieldRule, type TextProblem, TextRule } from '../platform/http/validation.js';
import {
  type Account,
  type AccountEdit,
  accountNameProblem,
  emailProblem,
  type Role,
  ROLES,
  type Source,
  SOURCES,
  type UsedAccount,
  type UserFilter,
} from '../users/domain/account.js';
import type { MadeAccount, NewUser } from './administration.service.js';

const ONE_ROLE = { message: `must be one of ${ROLES.join(', ')}` };

const USERNAME = {
  ...NAME,
  description:
    'As the engine sees it: NFC, without control, format or unassigned characters, without blanks at its ends; does not begin with service-account-. Unique in any case.',
};

const OptionalText = (problemOf: TextProblem) =>
  FieldRule(absentOr((value) => (typeof value === 'string' ? problemOf(value) : 'must be a string')));

export class UserQuery extends PageQuery {
  @SearchText('Part of the username or the e-mail address, in any case.')
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

  @ApiPropertyOptional({ enum: SOURCES, description: 'How the account came to be.' })
  @IsOptional()
  @IsIn(SOURCES, { message: `must be one of ${SOURCES.join(', ')}` })
  source?: Source;
}

export class NewUserDto {
  @ApiProperty(USERNAME)
  @TextRule(accountNameProblem)
  username!: string;

  @ApiPropertyOptional({ format: 'email', maxLength: 254 })
  @OptionalText(emailProblem)
  email?: string;

  @ApiPropertyOptional({ enum: ROLES, default: 'user' })
  @ValidateIf(({ role }: NewUserDto) => role !== undefined)
  @IsIn(ROLES, ONE_ROLE)
  role?: Role;

  @ApiPropertyOptional({ description: 'Answer a one-time password, with which the account signs in and sets its own.' })
  @ValidateIf(({ one_time_password }: NewUserDto) => one_time_password !== undefined)
  @IsBoolean({ message: 'must be true or false' })
  one_time_password?: boolean;
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

  @ApiPropertyOptional({ ...USERNAME, description: `${USERNAME.description} Only of an account without a password.` })
  @OptionalText(accountNameProblem)
  username?: string;
}

/** An account as administrators see it. */
export class AccountResponse {
  @ApiProperty({ ...INTEGER, example: 12 }) id!: number;
  @ApiProperty({ example: 'alice' }) username!: string;
  @ApiProperty({ ...NULLABLE_TEXT, example: 'alice@example.org' }) email!: string | null;
  @ApiProperty({ enum: ROLES }) role!: Role;
  @ApiProperty() is_active!: boolean;
  @ApiProperty({ ...MOMENT, example: '2026-11-20T12:00:00.000Z' }) created_at!: string;
  @ApiProperty({ enum: SOURCES, description: 'How the account came to be.' }) source!: Source;
  @ApiProperty({ description: 'Without one, the account cannot sign in by a password, and can be renamed.' })
  has_password!: boolean;
  @ApiProperty({ ...TEXTS, description: 'Such as that no SQL can be run under the name.' }) warnings!: string[];
}

/** An account as administrators see it, with its groups, last sign-in and former names. */
export class UsedAccountResponse extends AccountResponse {
  @ApiProperty({ ...TEXTS, description: 'The first three groups that it is in, by name.' }) groups!: string[];
  @ApiProperty({ ...INTEGER, description: 'Of all of them.' }) group_count!: number;

  @ApiProperty({
    ...NULLABLE_MOMENT,
    description: 'By the audit trail; null: never, or longer ago than the trail is kept.',
  })
  last_sign_in_at!: string | null;

  @ApiProperty({
    ...TEXTS,
    description: 'Names that it was renamed away from: nobody else can have them until they are freed.',
  })
  former_names!: string[];
}

export class UserPage extends PageResponse(UsedAccountResponse) {
  @ApiProperty({ ...INTEGER, description: 'Accounts of all pages.' }) total!: number;
}

export class NewUserResponse extends AccountResponse {
  @ApiProperty({
    ...NULLABLE_TEXT,
    description: 'Shown here and never again. It opens nothing but POST /api/auth/password.',
  })
  one_time_password!: string | null;

  @ApiProperty({ ...NULLABLE_MOMENT, description: 'Until when the one-time password can be used to sign in.' })
  one_time_password_expires_at!: string | null;
}

export function toAccountResponse(account: Account): AccountResponse {
  return fieldsOf(account);
}

export function toUsedAccountResponse(account: UsedAccount): UsedAccountResponse {
  const { groups, groupCount, lastSignInAt, formerNames } = account;
  const use = { groups: [...groups], group_count: groupCount, last_sign_in_at: lastSignInAt?.toISOString() ?? null };
  return { ...fieldsOf(account), ...use, former_names: [...formerNames] };
}

function fieldsOf(account: Account) {
  const { id, username, email, role, isActive, createdAt, source, hasPassword } = account;
  const fields = { id, username, email, role, is_active: isActive, created_at: createdAt.toISOString() };
  return { ...fields, source, has_password: hasPassword, warnings: [headerNameWarning(username) ?? []].flat() };
}

export function toNewUserResponse({ account, isEmailTaken, oneTimePassword }: MadeAccount): NewUserResponse {
  const fields = fieldsOf(account);
  const withoutEmail = isEmailTaken ? ['Another account has the e-mail address: it is not stored.'] : [];
  return {
    ...fields,
    one_time_password: oneTimePassword,
    one_time_password_expires_at: account.oneTimeUntil?.toISOString() ?? null,
    warnings: [...withoutEmail, ...fields.warnings],
  };
}

export function toNewUser({ username, email, role, one_time_password }: NewUserDto): NewUser {
  return { username, email: email ?? null, role: role ?? 'user', withOneTimePassword: one_time_password === true };
}

export function toFilter({ q, role, is_active, source }: UserQuery): UserFilter {
  return { text: q, role, isActive: is_active, source };
}

export function toChange({ is_active, role, username }: UserChangeDto): AccountEdit {
  return {
    ...(is_active === undefined ? {} : { isActive: is_active }),
    ...(role === undefined ? {} : { role }),
    ...(username === undefined ? {} : { username }),
  };
}
