import type { Account } from './account.js';

/** Whether a change would leave nobody who could undo it: the account is the last active administrator, and no longer would be one. */
export function takesLastAdministrator(
  activeAdministrators: readonly number[],
  next: Pick<Account, 'id' | 'role' | 'isActive'>,
): boolean {
  const staysOne = next.role === 'admin' && next.isActive;
  return !staysOne && activeAdministrators.length === 1 && activeAdministrators[0] === next.id;
}
