import { Injectable } from '@nestjs/common';
import { Refused } from '../kernel/errors.js';
import type { Client } from '../platform/http/access.js';
import type { Account, AccountToProve, AccountWithHash } from '../users/domain/account.js';
import { type Hashing, PasswordHasher } from './password-hasher.js';
import { type CountedAttempt, Throttle, type ThrottledAttempt } from './throttle.store.js';

/** A presented name and password. */
export interface PresentedCredentials {
  username: string;
  password: string;
  /** Reads the account; called again if the account has changed during the check. */
  find: () => Promise<AccountToProve | null>;
}

export type Proof<T> =
  | { kind: 'proved'; outcome: T }
  | { kind: 'wrong-password'; account: Account | null }
  | { kind: 'deactivated'; account: Account }
  | ThrottledAttempt;

/** Work in one transaction, done only if the account still has the checked hash; null: it has another one by now. */
export type Act<T> = (account: AccountWithHash, hashing: Hashing) => Promise<T | null>;

/** The most checks of one password: it is checked again when a concurrent sign-in has renewed the hash. */
const MOST_CHECKS = 3;

/** Throttles, admits and checks every presented password. */
@Injectable()
export class CredentialsService {
  constructor(
    private readonly hasher: PasswordHasher,
    private readonly throttle: Throttle,
  ) {}

  /**
   * Throttles the attempt, waits for a hashing thread, checks the password (with the same work for unknown users), and calls `act`.
   * @throws Refused `busy`; the attempt is not counted then, unless the client went away
   */
  async prove<T>(presented: PresentedCredentials, client: Client, act: Act<T>): Promise<Proof<T>> {
    const attempt = await this.throttle.countLogin(presented.username, client.address);
    if (attempt.kind === 'throttled') return attempt;
    return this.runAdmitted(attempt, client, async (hashing) => {
      const proof = await this.check(presented, hashing, act);
      if (proof.kind === 'proved') await this.throttle.recordSuccess(attempt);
      return proof;
    });
  }

  /** Runs work that hashes, for an attempt that was counted. Refused `busy` takes the attempt back. */
  async runAdmitted<T>(attempt: CountedAttempt, client: Client, work: (hashing: Hashing) => Promise<T>): Promise<T> {
    try {
      return await this.hasher.admit(client.address, client.gone, work);
    } catch (error) {
      if (error instanceof Refused && error.code === 'busy' && !client.gone.aborted)
        await this.throttle.takeBack(attempt);
      throw error;
    }
  }

  private async check<T>({ password, find }: PresentedCredentials, hashing: Hashing, act: Act<T>): Promise<Proof<T>> {
    for (let checks = 0; checks < MOST_CHECKS; checks += 1) {
      const found = await find();
      const passwordHash = found?.passwordHash ?? null;
      const matches = await hashing.matches(password, passwordHash);
      if (found === null || passwordHash === null || !matches) {
        return { kind: 'wrong-password', account: found?.account ?? null };
      }
      if (!found.account.isActive) return { kind: 'deactivated', account: found.account };
      const outcome = await act({ account: found.account, passwordHash }, hashing);
      if (outcome !== null) return { kind: 'proved', outcome };
    }
    throw new Refused('busy', { detail: 'The account is being changed.' });
  }
}
