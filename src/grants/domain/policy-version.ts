import { createHash } from 'node:crypto';
import { withNamed } from '../../trino-rules/model/node.js';
import { principalText } from '../../trino-rules/model/principal.js';
import type { Policy } from './policy.js';

/** The entity tag of a policy: another one after every change, whatever its principals are called meanwhile. */
export function policyVersion({ id, rule, principal, except, description, changedAt }: Policy): string {
  const content = [
    id,
    { ...rule, resource: withNamed(rule.resource, principalText) },
    [principal, ...except].map(principalText),
    description,
    changedAt,
  ];
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('base64url').slice(0, 22)}"`;
}
