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
import { RowIdPipe } from '../platform/http/parameters.js';
import {
  AdministrationService,
  changeAsksForProof,
  type MadeAccount,
  nameTaken,
  newAccountAsksForProof,
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
import { absentOr, FieldRule, ofText, TextRule } from '../platform/http/validation.js';
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
} from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';

const ONE_ROLE = { message: `must be one of ${ROLES.join(', ')}` };

const USERNAME = {
  ...NAME,
  description:
    'As the engine sees it: NFC, without control, format or unassigned characters, without blanks at its ends; does not begin with service-account-. Unique in any case.',
};

class UserQuery extends PageQuery {
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

class NewUserDto {
  @ApiProperty(USERNAME)
  @TextRule(accountNameProblem)
  username!: string;

  @ApiPropertyOptional({ format: 'email', maxLength: 254 })
  @FieldRule(absentOr(ofText(emailProblem)))
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

class UserChangeDto {
  @ApiPropertyOptional()
  @ValidateIf(({ is_active }: UserChangeDto) => is_active !== undefined)
  @IsBoolean({ message: 'must be true or false' })
  is_active?: boolean;

  @ApiPropertyOptional({ enum: ROLES })
  @ValidateIf(({ role }: UserChangeDto) => role !== undefined)
  @IsIn(ROLES, ONE_ROLE)
  role?: Role;

  @ApiPropertyOptional({ ...USERNAME, description: `${USERNAME.description} Only of an account without a password.` })
  @FieldRule(absentOr(ofText(accountNameProblem)))
  username?: string;
}

/** An account as administrators see it. */
class AccountResponse {
  @ApiProperty({ ...INTEGER, example: 12 }) id!: number;
  @ApiProperty({ example: 'alice' }) username!: string;
  @ApiProperty({ ...NULLABLE_TEXT, example: 'alice@example.org' }) email!: string | null;
  @ApiProperty({ enum: ROLES }) role!: Role;
  @ApiProperty() is_active!: boolean;
  @ApiProperty({ ...MOMENT, example: '2026-11-20T12:00:00.000Z' }) created_at!: string;
  @ApiProperty({ enum: SOURCES, description: 'How the account came to be.' }) source!: Source;
  @ApiProperty({ description: 'Without one, the account cannot sign in by a password, and can be renamed.' })
  has_password!: boolean;
  @ApiField(TEXTS, 'Such as that no SQL can be run under the name.') warnings!: string[];
}

/** An account as administrators see it, with its groups, last sign-in and former names. */
class UsedAccountResponse extends AccountResponse {
  @ApiField(TEXTS, 'The first three groups that it is in, by name.') groups!: string[];
  @ApiField(INTEGER, 'Of all of them.') group_count!: number;

  @ApiField(NULLABLE_MOMENT, 'By the audit trail; null: never, or longer ago than the trail is kept.')
  last_sign_in_at!: string | null;

  @ApiField(TEXTS, 'Names that it was renamed away from: nobody else can have them until they are freed.')
  former_names!: string[];
}

class UserPage extends PageResponse(UsedAccountResponse) {
  @ApiField(INTEGER, 'Accounts of all pages.') total!: number;
}

class NewUserResponse extends AccountResponse {
  @ApiField(NULLABLE_TEXT, 'Shown here and never again. It opens nothing but POST /api/auth/password.')
  one_time_password!: string | null;

  @ApiField(NULLABLE_MOMENT, 'Until when the one-time password can be used to sign in.')
  one_time_password_expires_at!: string | null;
}

function toUsedAccountResponse(account: UsedAccount): UsedAccountResponse {
  const { groups, groupCount, lastSignInAt, formerNames } = account;
  const use = { groups: [...groups], group_count: groupCount, last_sign_in_at: lastSignInAt?.toISOString() ?? null };
  return { ...toAccountResponse(account), ...use, former_names: [...formerNames] };
}

function toAccountResponse(account: Account) {
  const { id, username, email, role, isActive, createdAt, source, hasPassword } = account;
  const fields = { id, username, email, role, is_active: isActive, created_at: createdAt.toISOString() };
  return { ...fields, source, has_password: hasPassword, warnings: [headerNameWarning(username) ?? []].flat() };
}

function toNewUserResponse({ account, isEmailTaken, oneTimePassword }: MadeAccount): NewUserResponse {
  const fields = toAccountResponse(account);
  const withoutEmail = isEmailTaken ? ['Another account has the e-mail address: it is not stored.'] : [];
  return {
    ...fields,
    one_time_password: oneTimePassword,
    one_time_password_expires_at: account.oneTimeUntil?.toISOString() ?? null,
    warnings: [...withoutEmail, ...fields.warnings],
  };
}

function toChange({ is_active, role, username }: UserChangeDto): AccountEdit {
  return {
    ...(is_active === undefined ? {} : { isActive: is_active }),
    ...(role === undefined ? {} : { role }),
    ...(username === undefined ? {} : { username }),
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
    const page = pageOf(await this.accounts.page(filter, after, limit + 1), limit, ({ id }) => id);
    return { ...mapPage(page, toUsedAccountResponse), total: await this.accounts.count(filter) };
  }

  @ApiRoute(
    'createUser',
    'Make an account without a password, or with a one-time password',
    'username_taken',
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
    @CurrentAuditContext() by: AuditContext,
    @CurrentClient() client: Client,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<NewUserResponse> {
    const asked = { username, email: email ?? null, role, withOneTimePassword: one_time_password === true };
    if (newAccountAsksForProof(asked)) this.sessions.requireRecentProof(user);
    const made = await this.administration.create(asked, by, client);
    void reply.header('Location', `/api/admin/users/${made.account.id}`);
    return toNewUserResponse(made);
  }

  @OpenToTokens('admin.read')
  @ApiRoute('getUser', 'One account')
  @Get(':id')
  @Answers(UsedAccountResponse)
  async find(@Param('id', RowIdPipe) id: number): Promise<UsedAccountResponse> {
    return toUsedAccountResponse(orNotFound(await this.accounts.findUsed(id)));
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
    @Body() body: UserChangeDto,
    @CurrentUser() user: AuthenticatedUser,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<AccountResponse> {
    const [asked, before] = [toChange(body), orNotFound(await this.accounts.findUsed(id))];
    if (changeAsksForProof(asked, before)) this.sessions.requireRecentProof(user);
    const outcome = await this.administration.change(id, asked, by);
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
        throw nameTaken(body.username ?? '', outcome);
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
    @Param('session') session: string,
    @CurrentAuditContext() by: AuditContext,
  ): Promise<void> {
    return this.sessions.end(id, session, by);
  }

  @ApiRoute('endUserSessions', 'End all sessions of an account')
  @Delete(':id/sessions')
  @NoContent()
  async endSessions(@Param('id', RowIdPipe) id: number, @CurrentAuditContext() by: AuditContext): Promise<void> {
    await this.sessions.endSessions('sessions_ended', orNotFound(await this.accounts.find(id)), by);
  }

  @ApiRoute(
    'setOneTimePassword',
    'Set a password that has to be changed at the first use',
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
    const { password, until, revokedTokens } = await this.passwords.setOneTimePassword(id, user, client);
    return { one_time_password: password, expires_at: until.toISOString(), revoked_tokens: revokedTokens };
  }
}
