import { Injectable } from '@nestjs/common';
import { AuditService } from '../audit/audit.service.js';
import { userSubject } from '../audit/domain/audit-event.js';
import { Refused } from '../kernel/errors.js';
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

/** The client address of the command line. The queue for hashing serves client addresses in turn. */
const LOOPBACK_IP = '127.0.0.1';

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
   * Creates an account for a registrant whose fields are already validated.
   * @throws Refused `password_sign_in_disabled`, `registration_closed`, `too_many_requests`, `busy`, `username_taken`, `email_taken`
   */
  async register(registrant: Registrant, client: Client): Promise<Account> {
    if (!this.settings.auth.passwordSignInEnabled) throw new Refused('password_sign_in_disabled');
    if (!this.settings.auth.registrationEnabled) throw new Refused('registration_closed');
    const attempt = await this.throttle.countRegistration(client.address);
    if (attempt.kind === 'throttled') {
      const event = 'registration_throttled';
      // Throttled registrations are recorded once in each throttling window, so that a flood does not fill the audit trail.
      if (attempt.isFirst) await this.audit.record({ event, actor: null, subject: null, origin: client, details: {} });
      throw new Refused('too_many_requests', attempt);
    }
    return this.credentials.runWithHashing(attempt, client, async (hashing) => {
      const conflict = await this.users.findConflict(registrant.username, registrant.email);
      if (conflict !== null) throw new Refused(conflict);
      return this.create(registrant, await hashing.hash(registrant.password), client);
    });
  }

  /**
   * Creates an administrator from the command line, even while registration is disabled.
   * @throws Refused `validation_failed` with all problems, `username_taken`, `email_taken`
   */
  async createAdministrator(registrant: Registrant): Promise<Account> {
    const { username, email, password } = registrant;
    const problems = {
      username: usernameProblem(username),
      email: emailProblem(email),
      password: passwordProblem(password),
    };
    const errors = Object.entries(problems).flatMap(([field, message]) => (message === null ? [] : { field, message }));
    if (errors.length > 0) throw new Refused('validation_failed', { errors });
    const hash = await this.hasher.admit(LOOPBACK_IP, new AbortController().signal, (hashing) =>
      hashing.hash(password),
    );
    return this.create(registrant, hash, null);
  }

  /** @param client null: the command line, which creates administrators */
  private create({ username, email }: Registrant, passwordHash: string, client: Client | null): Promise<Account> {
    const [role, event] =
      client === null ? (['admin', 'administrator_created'] as const) : (['user', 'account_registered'] as const);
    return this.transaction.run(async () => {
      const storedPassword = { hash: passwordHash, passwordExpiresAt: null };
      const newAccount: NewAccount = { username, email, role, source: 'local', storedPassword };
      // The command line does not read the engine's settings, so it reserves no names of service accounts.
      const [outcome] = await this.users.create([newAccount], client === null ? { reservedNames: [] } : {});
      if (outcome?.kind !== 'created') throw new Refused('username_taken');
      const { account, isEmailTaken } = outcome;
      if (isEmailTaken) throw new Refused('email_taken');
      const actor = client === null ? null : account;
      await this.audit.record({ event, actor, subject: userSubject(account), origin: client, details: {} });
      return account;
    });
  }
}
