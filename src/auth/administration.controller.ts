import { Body, Controller, Delete, Get, Param, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiCreatedResponse, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { AuditContext } from '../audit/domain/audit-event.js';
import { orNotFound, Refused } from '../kernel/errors.js';
import { mapPage, pageOf } from '../kernel/page.js';
import {
  AdministratorsOnly,
  type AuthenticatedUser,
  type Client,
  CurrentAuditContext,
  CurrentClient,
  CurrentUser,
  OpenToTokens,
  sessionIdOf,
} from '../platform/http/access.js';
import { ADMINISTRATION, BodyLimits } from '../platform/http/body-limits.js';
import { Answers, ApiRoute, NoContent } from '../platform/http/openapi.js';
import { BigPageQuery, PageQuery, SearchText } from '../platform/http/page.dto.js';
import { RowIdPipe, UuidPipe } from '../platform/http/parameters.js';
import {
  AdministrationService,
  changeRequiresProof,
  type CreatedAccount,
  nameTakenRefusal,
  creationRequiresProof,
} from './administration.service.js';
import { OneTimePasswordResponse, SessionPage, toSessionResponse } from './auth.dto.js';
import { PasswordsService } from './passwords.service.js';
import { SessionsService } from './sessions.service.js';
import { Transform } from 'class-transformer';
import { IsBoolean, IsIn, IsOptional, ValidateIf } from 'class-validator';
import { headerNameWarning } from '../kernel/name.js';
import {
  ApiField,
  INTEGER,
  MOMENT,
  NAME,
  NULLABLE_MOMENT,
  NULLABLE_TEXT,
  PageResponse,
  TEXTS,
} from '../platform/http/api-fields.js';
import { optionalRule, FieldRule, ruleForText, TextRule } from '../platform/http/validation.js';
import {
  type Account,
  accountNameProblem,
  emailProblem,
  type Role,
  ROLES,
  type Source,
  ACCOUNT_SOURCES,
  type AccountDetails,
} from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';

const ROLE_MESSAGE = { message: `must be one of ${ROLES.join(', ')}` };

const USERNAME_PROPERTY = {
  ...NAME,
  description:
    'User name on the engine: in Unicode form NFC, without control, format or unassigned characters, without blanks at its ends, not beginning with service-account-. Unique without regard to case.',
};

class UserQuery extends PageQuery {
  @SearchText('Part of the username or the e-mail address, in any case.')
  q?: string;

  @ApiPropertyOptional({ enum: ROLES })
  @IsOptional()
  @IsIn(ROLES, ROLE_MESSAGE)
  role?: Role;

  @ApiPropertyOptional({ type: Boolean })
  @Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value))
  @IsOptional()
  @IsBoolean({ message: 'must be true or false' })
  is_active?: boolean;

  @ApiPropertyOptional({ enum: ACCOUNT_SOURCES, description: 'How the account came to be.' })
  @IsOptional()
  @IsIn(ACCOUNT_SOURCES, { message: `must be one of ${ACCOUNT_SOURCES.join(', ')}` })
  source?: Source;
}

class NewUserDto {
  @ApiProperty(USERNAME_PROPERTY)
  @TextRule(accountNameProblem)
  username!: string;

  @ApiPropertyOptional({ format: 'email', maxLength: 254 })
  @FieldRule(optionalRule(ruleForText(emailProblem)))
  email?: string;

  @ApiPropertyOptional({ enum: ROLES, default: 'user' })
  @ValidateIf(({ role }: NewUserDto) => role !== undefined)
  @IsIn(ROLES, ROLE_MESSAGE)
  role?: Role;

  @ApiPropertyOptional({
    description: 'Whether to return a one-time password, which the user replaces after signing in.',
  })
  @ValidateIf(({ one_time_password }: NewUserDto) => one_time_password !== undefined)
  @IsBoolean({ message: 'must be true or false' })
  one_time_password?: boolean;
}

class UserChangeDto {
  @ApiPropertyOptional()
  @ValidateIf(({ is_active }: UserChangeDto) => is_active !== undefined)
  @IsBoolean({ message: 'must be true or false' })
  is_active?: boolean;

  @ApiPropertyOptional({ enum: ROLES })
  @ValidateIf(({ role }: UserChangeDto) => role !== undefined)
  @IsIn(ROLES, ROLE_MESSAGE)
  role?: Role;

  @ApiPropertyOptional({
    ...USERNAME_PROPERTY,
    description: `${USERNAME_PROPERTY.description} An account with a password keeps its name.`,
  })
  @FieldRule(optionalRule(ruleForText(accountNameProblem)))
  username?: string;
}

class AccountResponse {
  @ApiProperty({ ...INTEGER, example: 12 }) id!: number;
  @ApiProperty({ example: 'alice' }) username!: string;
  @ApiProperty({ ...NULLABLE_TEXT, example: 'alice@example.org' }) email!: string | null;
  @ApiProperty({ enum: ROLES }) role!: Role;
  @ApiProperty() is_active!: boolean;
  @ApiProperty({ ...MOMENT, example: '2026-11-20T12:00:00.000Z' }) created_at!: string;
  @ApiProperty({ enum: ACCOUNT_SOURCES, description: 'How the account came to be.' }) source!: Source;
  @ApiProperty({ description: 'An account without a password cannot sign in by password, and can be renamed.' })
  has_password!: boolean;
  @ApiField(TEXTS, 'Problems of the account, for example that no SQL can be run under its name.') warnings!: string[];
}

class AccountDetailsResponse extends AccountResponse {
  @ApiField(TEXTS, 'The first three groups of the account, in alphabetical order.') groups!: string[];
  @ApiField(INTEGER, 'Number of all groups of the account.') group_count!: number;

  @ApiField(NULLABLE_MOMENT, 'Last sign-in in the audit trail; null if there is none within its retention time.')
  last_sign_in_at!: string | null;

  @ApiField(TEXTS, 'Former names of the account. No other account can have them until an administrator frees them.')
  former_names!: string[];
}

class UserPage extends PageResponse(AccountDetailsResponse) {
  @ApiField(INTEGER, 'Number of accounts on all pages.') total!: number;
}

class NewUserResponse extends AccountResponse {
  @ApiField(NULLABLE_TEXT, 'Shown once. Signing in with it opens only the change of password, `me` and logout.')
  one_time_password!: string | null;

  @ApiField(NULLABLE_MOMENT, 'End of the time in which the one-time password can be used to sign in.')
  one_time_password_expires_at!: string | null;
}

function toAccountDetailsResponse(account: AccountDetails): AccountDetailsResponse {
  const { groups, groupCount, lastSignInAt, formerNames } = account;
  const fields = { ...toAccountResponse(account), groups: [...groups], group_count: groupCount };
  return { ...fields, last_sign_in_at: lastSignInAt?.toISOString() ?? null, former_names: [...formerNames] };
}

function toAccountResponse(account: Account) {
  const { id, username, email, role, isActive, createdAt, source, hasPassword } = account;
  const fields = { id, username, email, role, is_active: isActive, created_at: createdAt.toISOString() };
  return { ...fields, source, has_password: hasPassword, warnings: [headerNameWarning(username) ?? []].flat() };
}

function toNewUserResponse({ account, isEmailTaken, oneTimePassword }: CreatedAccount): NewUserResponse {
  const fields = toAccountResponse(account);
  const emailWarnings = isEmailTaken ? ['Another account has the e-mail address: it is not stored.'] : [];
  return {
    ...fields,
    one_time_password: oneTimePassword,
    one_time_password_expires_at: account.passwordExpiresAt?.toISOString() ?? null,
    warnings: [...emailWarnings, ...fields.warnings],
  };
}

@ApiTags('users')
@AdministratorsOnly()
@Controller('api/admin/users')
export class AdministrationController {
  constructor(
    private readonly administration: AdministrationService,
    private readonly accounts: UserStore,
    private readonly passwords: PasswordsService,
    private readonly sessions: SessionsService,
  ) {}

  @OpenToTokens('admin.read')
  @ApiRoute('listUsers', 'Accounts, a page at a time')
  @Get()
  @Answers(UserPage)
  async list(@Query() { q, role, is_active, source, limit, after }: UserQuery): Promise<UserPage> {
    const filter = { text: q, role, isActive: is_active, source };
    const page = pageOf(await this.accounts.findPage(filter, after, limit + 1), limit, ({ id }) => id);
    return { ...mapPage(page, toAccountDetailsResponse), total: await this.accounts.count(filter) };
  }

  @ApiRoute(
    'createUser',
    'Create an account without a password, or with a one-time password',
    'username_taken',
    'password_sign_in_disabled',
    'busy',
    'guarantee_broken',
    'reauthentication_required',
  )
  @Post()
  @BodyLimits(ADMINISTRATION)
  @ApiCreatedResponse({ type: NewUserResponse })
  async create(
    @Body() { username, email, role = 'user', one_time_password }: NewUserDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewUserResponse> {
    const newUser = { username, email: email ?? null, role, withOneTimePassword: one_time_password === true };
    if (creationRequiresProof(newUser)) this.sessions.requireRecentProof(user);
    const createdAccount = await this.administration.create(newUser, context, client);
    void reply.header('Location', `/api/admin/users/${createdAccount.account.id}`);
    return toNewUserResponse(createdAccount);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getUser', 'One account')
  @Get(':id')
  @Answers(AccountDetailsResponse)
  async find(@Param('id', RowIdPipe) id: number): Promise<AccountDetailsResponse> {
    return toAccountDetailsResponse(orNotFound(await this.accounts.findDetails(id)));
  }

  @ApiRoute(
    'changeUser',
    'Change the role of an account, activate or deactivate it, or rename one without a password',
    'last_administrator',
    'username_taken',
    'account_has_password',
    'managed_elsewhere',
    'busy',
    'guarantee_broken',
    'reauthentication_required',
  )
  @Patch(':id')
  @BodyLimits(ADMINISTRATION)
  @Answers(AccountResponse)
  async change(
    @Param('id', RowIdPipe) id: number,
    @Body() { is_active, role, username }: UserChangeDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<AccountResponse> {
    const accountEdit = { isActive: is_active, role, username };
    const currentAccount = orNotFound(await this.accounts.findDetails(id));
    if (changeRequiresProof(accountEdit, currentAccount)) this.sessions.requireRecentProof(user);
    const outcome = await this.administration.change(id, accountEdit, context);
    switch (outcome.kind) {
      case 'changed':
        return toAccountResponse(outcome.account);
      case 'unknown':
        throw new Refused('not_found');
      case 'last-administrator':
        throw new Refused('last_administrator');
      case 'has-password':
        throw new Refused('account_has_password', {
          detail: 'An account with a password keeps the name it signs in by.',
        });
      case 'name-taken':
        throw nameTakenRefusal(username ?? '', outcome);
    }
  }

  @ApiRoute('listUserSessions', 'Sessions of an account')
  @Get(':id/sessions')
  @Answers(SessionPage)
  async sessionsOf(
    @Param('id', RowIdPipe) id: number,
    @Query() page: BigPageQuery,
    @CurrentUser() user: AuthenticatedUser,
  ): Promise<SessionPage> {
    orNotFound(await this.accounts.find(id));
    return mapPage(await this.sessions.list(id, page), (session) => toSessionResponse(session, sessionIdOf(user)));
  }

  @ApiRoute('endUserSession', 'End one session of an account')
  @Delete(':id/sessions/:session')
  @NoContent()
  endSession(
    @Param('id', RowIdPipe) id: number,
    @Param('session', UuidPipe) session: string,
    @CurrentAuditContext() context: AuditContext,
  ): Promise<void> {
    return this.sessions.end(id, session, context);
  }

  @ApiRoute('endUserSessions', 'End all sessions of an account')
  @Delete(':id/sessions')
  @NoContent()
  async endSessions(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() context: AuditContext): Promise<void> {
    await this.sessions.endSessions('sessions_ended', orNotFound(await this.accounts.find(id)), context);
  }

  @ApiRoute(
    'setOneTimePassword',
    'Set a password that has to be changed at the first use',
    'password_sign_in_disabled',
    'busy',
    'reauthentication_required',
  )
  @Post(':id/one-time-password')
  @Answers(OneTimePasswordResponse)
  async setOneTimePassword(
    @Param('id', RowIdPipe) id: number,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentClient() client: Client,
  ): Promise<OneTimePasswordResponse> {
    this.sessions.requireRecentProof(user);
    const { password, expiresAt, revokedTokens } = await this.passwords.setOneTimePassword(id, user, client);
    return { one_time_password: password, expires_at: expiresAt.toISOString(), revoked_tokens: revokedTokens };
  }
}
