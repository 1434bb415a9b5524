import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { userSubject } from '../audit/domain/audit-event.js';
import { type FieldError, Refused } from '../kernel/errors.js';
import type { Client } from '../platform/http/access.js';
import { Settings } from '../platform/settings/settings.js';
import { Transaction } from '../platform/database/transaction.js';
import {
  type Account,
  emailProblem,
  type NewAccount,
  passwordProblem,
  usernameProblem,
} from '../users/domain/account.js';
import { UserStore } from '../users/user.store.js';
import { CredentialsService } from './credentials.service.js';
import { PasswordHasher } from './password-hasher.js';
import { Throttle } from './throttle.store.js';

interface Registrant {
  username: string;
  email: string;
  password: string;
}

/** The address under which the command line waits in the hashing queue. */
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

  /**
   * Expects a validated registrant.
   * @throws Refused `password_sign_in_disabled`, `registration_closed`, `too_many_requests`, `busy`, `username_taken`, `email_taken`
   */
  async register(registrant: Registrant, client: Client): Promise<Account> {
    if (!this.settings.auth.passwordSignInEnabled) throw new Refused('password_sign_in_disabled');
    if (!this.settings.auth.registrationEnabled) throw new Refused('registration_closed');
    const attempt = await this.throttle.countRegistration(client.address);
    if (attempt.kind === 'throttled') {
      const event = 'registration_throttled';
      // Recorded once in a window, so that a flood does not fill the audit trail.
      if (attempt.first) await this.audit.record({ event, actor: null, subject: null, origin: client, details: {} });
      throw new Refused('too_many_requests', attempt);
    }
    return this.credentials.runAdmitted(attempt, client, async (hashing) => {
      const taken = await this.users.findTaken(registrant.username, registrant.email);
      if (taken !== null) throw new Refused(taken);
      return this.make(registrant, await hashing.hash(registrant.password), client);
    });
  }

  /**
   * Creates an administrator from the command line, also while registration is closed.
   * @throws Refused `validation_failed` with all problems, `username_taken`, `email_taken`
   */
  async createAdministrator(registrant: Registrant): Promise<Account> {
    const errors = registrantErrors(registrant);
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const hash = await this.hasher.admit(LOOPBACK, new AbortController().signal, (hashing) =>
      hashing.hash(registrant.password),
    );
    return this.make(registrant, hash, null);
  }

  /** @param client null: the command line, which creates administrators */
  private make({ username, email }: Registrant, passwordHash: string, client: Client | null): Promise<Account> {
    const [role, event] =
      client === null ? (['admin', 'administrator_created'] as const) : (['user', 'account_registered'] as const);
    return this.transaction.run(async () => {
      const password = { hash: passwordHash, oneTimeUntil: null };
      const made: NewAccount = { username, email, role, source: 'local', password };
      // The command line does not read the engine's settings, and their default names must not be reserved.
      const [outcome] = await this.users.create([made], client === null ? { reserved: [] } : {});
      if (outcome?.kind !== 'created') throw new Refused('username_taken');
      const { account, isEmailTaken } = outcome;
      if (isEmailTaken) throw new Refused('email_taken');
      const actor = client === null ? null : account;
      await this.audit.record({ event, actor, subject: userSubject(account), origin: client, details: {} });
      return account;
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
