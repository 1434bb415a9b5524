import { Refused } from '../../kernel/errors.js';
import type { Settings } from '../../platform/settings/settings.js';

/** The settings of the provider. @throws Refused `not_found` without one */
export function requireOidc({ oidc }: Settings): NonNullable<Settings['oidc']> {
  if (oidc === null) throw new Refused('not_found');
  return oidc;
}
