import type { AdmittedUser, AuthenticatedRequest, AuthenticatedUser } from '../platform/access.js';
import type { Account } from '../users/domain/account.js';

/** The user that a strategy puts on a request, with the account that its one query has read. */
export interface AdmittedAccount extends AdmittedUser {
  account: Account;
}

/** The same for every credential. */
export function admittedAccount(
  account: Account,
  credential: AuthenticatedUser['credential'],
  isStillAdmitted: AuthenticatedUser['isStillAdmitted'],
): AdmittedAccount {
  const { id, username, role, oneTimeUntil } = account;
  return { id, username, role, credential, isStillAdmitted, mustChangePassword: oneTimeUntil !== null, account };
}

/** A request whose user has been admitted, with the account that was read for it. */
export type AdmittedRequest = AuthenticatedRequest & { user: AdmittedAccount };
