import type { Account, AccountEdit, Role } from '../../users/domain/account.js';

/** Whether a change of an account needs a recent proof: it makes or concerns an administrator, or gives the account to whoever has the name. */
export function asksForProof({ role, username }: AccountEdit, before: Pick<Account, 'role'>): boolean {
  return role === 'admin' || before.role === 'admin' || username !== undefined;
}

/** The same of a new account: it is an administrator's, or comes with a password that opens a session. */
export function asksForProofAnew({ role, withOneTimePassword }: { role: Role; withOneTimePassword: boolean }): boolean {
  return role === 'admin' || withOneTimePassword;
}
