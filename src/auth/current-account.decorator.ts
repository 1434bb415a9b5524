import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
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

/** The parameter that holds the caller's account, an Account, without asking the database again. */
export const CurrentAccount = createParamDecorator(
  (_: unknown, context: ExecutionContext): Account =>
    context.switchToHttp().getRequest<AuthenticatedRequest & { user: AdmittedAccount }>().user.account,
);
