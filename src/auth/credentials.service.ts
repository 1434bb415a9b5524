import { Injectable } from '@nestjs/common';
import { Refused } from '../kernel/errors.js';
import type { Client } from '../platform/http/access.js';
import type { Account, AccountToAuthenticate, AuthenticatedAccount } from '../users/domain/account.js';
import { type Hashing, PasswordHasher } from './password-hasher.js';
import { type CountedAttempt, Throttle, type ThrottledAttempt } from './throttle.store.js';

export interface PresentedCredentials {
  username: string;
  password: string;
  /** Reads the account. Called again if the account's password hash changes during the check. */
  findAccount: () => Promise<AccountToAuthenticate | null>;
}

export type ProofOutcome<T> =
  | { kind: 'proved'; result: T }
  | { kind: 'wrong-password'; account: Account | null }
  | { kind: 'deactivated'; account: Account }
  | ThrottledAttempt;

/** An action after a successful password check. It runs in one transaction. @returns null: the hash has changed since the check */
export type ProvedAction<T> = (account: AuthenticatedAccount, hashing: Hashing) => Promise<T | null>;

/** Limits repeated checks of one password. A check is repeated when a concurrent sign-in has replaced the hash. */
const MAX_CHECKS = 3;

/** Checks every presented password, after throttling the client and waiting for a hashing thread. */
@Injectable()
export class CredentialsService {
  constructor(
    private readonly hasher: PasswordHasher,
    private readonly throttle: Throttle,
  ) {}

  /**
   * Throttles the attempt, waits for a hashing thread, checks the password (with the same work for unknown users), and calls `action`.
   * @throws Refused `busy`. Such an attempt is not counted, unless the client has disconnected
   */
  async prove<T>(credentials: PresentedCredentials, client: Client, action: ProvedAction<T>): Promise<ProofOutcome<T>> {
    const attempt = await this.throttle.countLogin(credentials.username, client.address);
    if (attempt.kind === 'throttled') return attempt;
    return this.runWithHashing(attempt, client, async (hashing) => {
      const proofOutcome = await this.checkPassword(credentials, hashing, action);
      if (proofOutcome.kind === 'proved') await this.throttle.recordSuccess(attempt);
      return proofOutcome;
    });
  }

  /** Runs work that hashes passwords. If it is refused as `busy`, the counted attempt is taken back. */
  async runWithHashing<T>(attempt: CountedAttempt, client: Client, work: (hashing: Hashing) => Promise<T>): Promise<T> {
    try {
      return await this.hasher.admit(client.address, client.signal, work);
    } catch (error) {
      if (error instanceof Refused && error.code === 'busy' && !client.signal.aborted)
        await this.throttle.takeBack(attempt);
      throw error;
    }
  }

  private async checkPassword<T>(
    { password, findAccount }: PresentedCredentials,
    hashing: Hashing,
    action: ProvedAction<T>,
  ): Promise<ProofOutcome<T>> {
    for (let checkCount = 0; checkCount < MAX_CHECKS; checkCount += 1) {
      const accountToCheck = await findAccount();
      const passwordHash = accountToCheck?.passwordHash ?? null;
      const isMatch = await hashing.matches(password, passwordHash);
      if (accountToCheck === null || passwordHash === null || !isMatch) {
        return { kind: 'wrong-password', account: accountToCheck?.account ?? null };
      }
      if (!accountToCheck.account.isActive) return { kind: 'deactivated', account: accountToCheck.account };
      const result = await action({ account: accountToCheck.account, passwordHash }, hashing);
      if (result !== null) return { kind: 'proved', result };
    }
    throw new Refused('busy', { detail: 'The account is being changed.' });
  }
}
