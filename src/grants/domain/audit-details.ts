import { type PolicySubject, principalText } from '../../trino-rules/model/principal.js';
import type { Privilege, Resource } from '../../trino-rules/model/resource.js';
import type { PolicyDraft } from './policy.js';

/** The details of a grant or policy in its audit event, comparable with those of a row. */
export type AuditDetails = Readonly<Record<string, unknown>>;

interface GrantTerms {
  principal: PolicySubject;
  resource: Resource;
  privileges: readonly Privilege[];
  expiresAt: Date | null;
}

export function grantDetails({ principal, resource, privileges, expiresAt }: GrantTerms): AuditDetails {
  return {
    principal: principalText(principal),
    resource,
    privileges,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}

interface PolicyTerms extends PolicyDraft {
  principal: PolicySubject;
  except: readonly PolicySubject[];
}

export function policyDetails({
  kind,
  resource,
  expression,
  privileges,
  principal,
  except,
}: PolicyTerms): AuditDetails {
  return {
    kind,
    resource,
    ...(expression !== undefined && { expression }),
    ...(privileges !== undefined && { privileges }),
    principal: principalText(principal),
    except: except.map(principalText).sort(),
  };
}

/** Canonical JSON: equal details give equal texts, because jsonb does not keep the order of keys. */
export function detailsText(details: unknown): string {
  return JSON.stringify(details, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/** The first comparison is the fast path: nearly all are equal, with the same order of keys. */
export function sameDetails(a: AuditDetails, b: AuditDetails): boolean {
  return JSON.stringify(a) === JSON.stringify(b) || detailsText(a) === detailsText(b);
}
