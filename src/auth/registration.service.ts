import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { userSubject } from '../audit/domain/audit-event.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import type { Client } from '../platform/access.js';
import { Settings } from '../platform/settings.js';
import { Transaction } from '../platform/transaction.js';
import { emailProblem, type Registration } from '../users/domain/account.js';
import { usernameProblem } from '../users/domain/account-name.js';
import { UsersService } from '../users/users.service.js';
import { CredentialsService } from './credentials.service.js';
import { type Hashing, PasswordHasher, passwordProblem } from './domain/password.js';
import { Throttle, type ThrottledAttempt } from './domain/throttle.js';

export interface Registrant {
  username: string;
  email: string;
  password: string;
}

export type RegistrationOutcome = Registration | { kind: 'closed' | 'password-sign-in-disabled' } | ThrottledAttempt;

/** The address under which the command line takes its turn. */
const LOOPBACK = '127.0.0.1';

/** Creates accounts. */
@Injectable()
export class RegistrationService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly users: UsersService,
    private readonly hasher: PasswordHasher,
    private readonly throttle: Throttle,
    private readonly audit: AuditService,
    private readonly transaction: Transaction,
    private readonly settings: Settings,
  ) {}

  /** Expects a validated registrant. */
  async register(registrant: Registrant, client: Client, signal: AbortSignal): Promise<RegistrationOutcome> {
    if (!this.settings.auth.passwordSignInEnabled) return { kind: 'password-sign-in-disabled' };
    if (!this.settings.auth.registrationEnabled) return { kind: 'closed' };
    const attempt = await this.throttle.registration(client.address);
    if (attempt.kind === 'throttled') {
      await this.recordThrottled(attempt.first, client);
      return attempt;
    }
    return this.credentials.admitted(attempt, client, signal, (hashing) => this.make(registrant, client, hashing));
  }

  private async make(
    { username, email, password }: Registrant,
    client: Client,
    hashing: Hashing,
  ): Promise<RegistrationOutcome> {
    const taken = await this.users.taken(username, email);
    if (taken !== null) return { kind: taken };
    const passwordHash = await hashing.hash(password);
    return this.transaction.run(async () => {
      const outcome = await this.users.register({ username, email, passwordHash, role: 'user' });
      if (outcome.kind !== 'registered') return outcome;
      const { account } = outcome;
      const subject = userSubject(account);
      await this.audit.record({ event: 'account_registered', actor: account, subject, origin: client, details: {} });
      return outcome;
    });
  }

  /**
   * The first administrator, or another one, from the command line: also while registration is closed.
   * @throws Refused `validation_failed` with everything that is wrong.
   */
  async createAdministrator(registrant: Registrant): Promise<Registration> {
    const errors = registrantErrors(registrant);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const { username, email, password } = registrant;
    const passwordHash = await this.hasher.admit(LOOPBACK, new AbortController().signal, (hashing) =>
      hashing.hash(password),
    );
    return this.transaction.run(async () => {
      const outcome = await this.users.register({ username, email, passwordHash, role: 'admin' });
      if (outcome.kind !== 'registered') return outcome;
      const subject = userSubject(outcome.account);
      await this.audit.record({ event: 'administrator_created', actor: null, subject, origin: null, details: {} });
      return outcome;
    });
  }

  private async recordThrottled(first: boolean, client: Client): Promise<void> {
    if (!first) return; // once in a window: a flood must not fill the audit trail
    const event = 'registration_throttled';
    await this.audit.record({ event, actor: null, subject: null, origin: client, details: {} });
  }
}

function registrantErrors({ username, email, password }: Registrant): FieldError[] {
  const problems = {
    username: usernameProblem(username),
    email: emailProblem(email),
    password: passwordProblem(password),
  };
  return Object.entries(problems).flatMap(([field, message]) => (message === null ? [] : [{ field, message }]));
}
