import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { AdmittedPerson, AuthenticatedRequest } from '../platform/access.js';
import type { Account } from '../users/domain/account.js';

/** What the access-token strategy leaves on a request: who is there, and the account as the one query of admission found it. */
export interface SignedInPerson extends AdmittedPerson {
  account: Account;
}

/** The parameter that holds the caller's account, an Account, without asking the database again. */
export const CurrentAccount = createParamDecorator(
  (_: unknown, context: ExecutionContext): Account =>
    context.switchToHttp().getRequest<AuthenticatedRequest & { user: SignedInPerson }>().user.account,
);
