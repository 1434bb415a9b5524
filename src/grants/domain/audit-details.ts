import { type PolicySubject, principalText } from '../../trino-rules/model/principal.js';
import type { Privilege } from '../../trino-rules/model/privilege.js';
import type { Resource } from '../../trino-rules/model/resource.js';
import type { PolicyDraft } from './policy.js';

/** What somebody says when giving something: what the audit trail holds, and what a row can be compared with. */
export type AuditDetails = Readonly<Record<string, unknown>>;

interface GivenGrant {
  principal: PolicySubject;
  resource: Resource;
  privileges: readonly Privilege[];
  expiresAt: Date | null;
}

export function grantDetails({ principal, resource, privileges, expiresAt }: GivenGrant): AuditDetails {
  return {
    principal: principalText(principal),
    resource,
    privileges,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}

interface SaidPolicy extends PolicyDraft {
  principal: PolicySubject;
  except: readonly PolicySubject[];
}

export function policyDetails({ kind, resource, expression, privileges, principal, except }: SaidPolicy): AuditDetails {
  return {
    kind,
    resource,
    ...(expression !== undefined && { expression }),
    ...(privileges !== undefined && { privileges }),
    principal: principalText(principal),
    except: except.map(principalText).sort(),
  };
}

/** The same text for the same facts, in whatever order a database returns their keys. */
export function detailsText(facts: unknown): string {
  return JSON.stringify(facts, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/** Whether two say the same. Nearly all do, in the same order of keys. */
export function sameDetails(a: AuditDetails, b: AuditDetails): boolean {
  return JSON.stringify(a) === JSON.stringify(b) || detailsText(a) === detailsText(b);
}
