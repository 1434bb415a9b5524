import { type PolicyPrincipal, PRINCIPAL_TYPE_TEXTS } from './principal.js';
import { type Privilege, PRIVILEGE_TERMS } from './privilege.js';

/** Why a grant of these cannot name a principal; null: it can. */
export function holderProblem(privileges: readonly Privilege[], { type }: PolicyPrincipal): string | null {
  const refused = privileges.filter((privilege) => !PRIVILEGE_TERMS[privilege].to.includes(type));
  const [first] = refused;
  if (first === undefined) return null;
  const holders = PRIVILEGE_TERMS[first].to.map((each) => PRINCIPAL_TYPE_TEXTS[each]);
  return `${refused.join(', ')} can be granted to ${holders.join(' or ')} alone`;
}
