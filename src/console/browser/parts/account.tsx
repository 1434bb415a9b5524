import type { Schemas } from '../api/client.js';
import { Icon } from './icon.js';

/** Whether an account can be used. */
export function AccountState({ account }: { account: Pick<Schemas['AccountResponse'], 'is_active'> }) {
  if (account.is_active) return <span className="dim">active</span>;
  return (
    <span className="badge">
      <Icon name="stop" />
      deactivated
    </span>
  );
}

/** The same beside a heading. */
export function AccountBadge({ account }: { account: Pick<Schemas['AccountResponse'], 'is_active'> }) {
  if (!account.is_active) return <AccountState account={account} />;
  return (
    <span className="badge badge--gain">
      <Icon name="check" />
      active
    </span>
  );
}

/** By what somebody signs in. */
export function signInText({ has_password: hasPassword, source }: Schemas['AccountResponse']): string {
  if (hasPassword) return 'password';
  return source === 'local' ? 'nothing yet' : 'the identity provider';
}
