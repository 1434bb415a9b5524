import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { userSubject } from '../audit/domain/audit-event.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import type { Client } from '../platform/http/access.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction } from '../platform/database/transaction.js';
import { emailProblem, passwordProblem, type Registration, usernameProblem } from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { CredentialsService } from './credentials.service.js';
import { PasswordHasher } from './password-hasher.js';
import { Throttle, type ThrottledAttempt } from './throttle.store.js';

export interface Registrant {
  username: string;
  email: string;
  password: string;
}

export type RegistrationOutcome = Registration | { kind: 'closed' | 'password-sign-in-disabled' } | ThrottledAttempt;

/** The address of the command line in the queue of hashes. */
const LOOPBACK = '127.0.0.1';

/** Creates accounts. */
@Injectable()
export class RegistrationService {
  constructor(
    private readonly credentials: CredentialsService,
    private readonly users: UserStore,
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
      const event = 'registration_throttled';
      // Once in a window, so that a flood does not fill the audit trail.
      if (attempt.first) await this.audit.record({ event, actor: null, subject: null, origin: client, details: {} });
      return attempt;
    }
    return this.credentials.admitted(attempt, client, signal, async (hashing) => {
      const taken = await this.users.taken(registrant.username, registrant.email);
      if (taken !== null) return { kind: taken };
      return this.make(registrant, await hashing.hash(registrant.password), client);
    });
  }

  /**
   * Makes an administrator from the command line, also while registration is closed.
   * @throws Refused `validation_failed` with all problems
   */
  async createAdministrator(registrant: Registrant): Promise<Registration> {
    const errors = registrantErrors(registrant);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const hash = await this.hasher.admit(LOOPBACK, new AbortController().signal, (hashing) =>
      hashing.hash(registrant.password),
    );
    return this.make(registrant, hash, null);
  }

  /** @param client null: the command line, which makes administrators */
  private make({ username, email }: Registrant, passwordHash: string, client: Client | null): Promise<Registration> {
    const [role, event] =
      client === null ? (['admin', 'administrator_created'] as const) : (['user', 'account_registered'] as const);
    return this.transaction.run(async () => {
      const outcome = await this.users.register({ username, email, passwordHash, role });
      if (outcome.kind !== 'registered') return outcome;
      const { account } = outcome;
      const actor = client === null ? null : account;
      await this.audit.record({ event, actor, subject: userSubject(account), origin: client, details: {} });
      return outcome;
    });
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
