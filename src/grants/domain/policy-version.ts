import { createHash } from 'node:crypto';
import { principalText } from '../../trino-rules/model/principal.js';
import type { Policy } from './policy.js';

/** The entity tag of a policy: another one after every change, whatever its principals are called meanwhile. */
export function policyVersion({ id, rule, principal, except, description, changedAt }: Policy): string {
  const { as, ...names } = rule.resource;
  const content = [
    id,
    { ...rule, resource: { ...names, as: as && principalText(as) } },
    [principal, ...except].map(principalText),
    description,
    changedAt,
  ];
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22)}"`;
}
