import type { AuditContext, AuditEntry, AuditEventName } from '../../audit/domain/audit-event.js';
import { brokenText, type GuaranteeVerdict } from '../../trino-rules/answers/guarantee-verdicts.js';
import { guaranteeFields } from '../../trino-rules/model/guarantee-file.js';
import { withNamed } from '../../trino-rules/model/node.js';
import { type GroupMember, type PolicyPrincipal, principalText } from '../../trino-rules/model/principal.js';
import type { SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { Grant, GrantOutcome, RevokeOutcome } from './grant.js';
import type { Group } from './group.js';
import type { RecordedGuarantee } from './guarantee.js';
import type { Policy, PolicyDraft } from './policy.js';

/** The details of an audit event about a grant or policy, comparable with the details made from its row. */
export type AuditDetails = Readonly<Record<string, unknown>>;

type GrantTerms = Omit<SnapshotGrant, 'id' | 'revokedAt'>;

export function grantDetails({ principal, resource, privileges, expiresAt }: GrantTerms): AuditDetails {
  return {
    principal: principalText(principal),
    resource: resourceDetails(resource),
    privileges,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}

/** A node with ids instead of names of users and groups, because names change. */
function resourceDetails(resource: SnapshotPolicy['resource']): AuditDetails {
  return withNamed(resource, principalText);
}

interface PolicyTerms extends Omit<PolicyDraft, 'resource'> {
  resource: SnapshotPolicy['resource'];
  principal: PolicyPrincipal;
  except: readonly PolicyPrincipal[];
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
    resource: resourceDetails(resource),
    ...(expression !== undefined && { expression }),
    ...(privileges !== undefined && { privileges }),
    principal: principalText(principal),
    except: except.map(principalText).sort(),
  };
}

export function grantedEvents(outcomes: readonly GrantOutcome[], by: AuditContext): AuditEntry[] {
  return outcomes.filter(({ created }) => created).map(({ grant }) => grantEvent('grant_created', grant, by));
}

export function revokedEvents(outcomes: readonly (RevokeOutcome | null)[], by: AuditContext): AuditEntry[] {
  return outcomes.flatMap((outcome) =>
    outcome?.revoked === true ? [grantEvent('grant_revoked', outcome.grant, by)] : [],
  );
}

function grantEvent(event: 'grant_created' | 'grant_revoked', grant: Grant, by: AuditContext): AuditEntry {
  return { event, ...by, subject: { type: 'grant', id: String(grant.id), name: null }, details: grantDetails(grant) };
}

export function policyEvent(
  event: 'policy_created' | 'policy_changed' | 'policy_deleted',
  { id, rule, principal, except }: Policy,
  by: AuditContext,
): AuditEntry {
  const details = policyDetails({ ...rule, principal, except });
  return { event, ...by, subject: { type: 'policy', id: String(id), name: null }, details };
}

/** @param before and `after`: null where there is none */
export function guaranteeEvent(
  before: RecordedGuarantee | null,
  after: RecordedGuarantee | null,
  by: AuditContext,
): AuditEntry {
  const event = before === null ? 'guarantee_created' : after === null ? 'guarantee_deleted' : 'guarantee_changed';
  const { id = 0, name = '' } = (after ?? before)?.guarantee ?? {};
  const text = (recorded: RecordedGuarantee): AuditDetails => ({
    ...guaranteeFields(recorded.guarantee, (named) => named),
    description: recorded.description,
  });
  const details = { ...(before && { before: text(before) }), ...(after && { after: text(after) }) };
  return { event, ...by, subject: { type: 'guarantee', id: String(id), name }, details };
}

/** The event for a guarantee that a verdict found broken, or that holds again. */
export function verdictEvent(verdict: GuaranteeVerdict, by: AuditContext): AuditEntry {
  const { id, name, isBroken, brokenBy } = verdict;
  const details = isBroken ? { message: brokenText(verdict), broken_by: brokenBy } : {};
  const subject = { type: 'guarantee' as const, id: String(id), name };
  return { event: isBroken ? 'guarantee_broken' : 'guarantee_holds_again', ...by, subject, details };
}

export function groupEvent(
  event: Extract<AuditEventName, `group_${string}` | `member_${string}`>,
  { id, name }: Pick<Group, 'id' | 'name'>,
  by: AuditContext,
  details: AuditDetails,
): AuditEntry {
  return { event, ...by, subject: { type: 'group', id: String(id), name }, details };
}

/** Details of an event about a member that joins or leaves a group. */
export function memberDetails(member: GroupMember): AuditDetails {
  return member.type === 'user' ? { user_id: member.id } : { engine: member.name };
}

/** Canonical JSON: equal details give equal texts, because jsonb does not keep the order of keys. */
export function detailsText(details: unknown): string {
  return JSON.stringify(details, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

/** Whether two details are equal. The first comparison is the fast path: nearly all are equal, with the same order of keys. */
export function sameDetails(a: AuditDetails, b: AuditDetails): boolean {
  return JSON.stringify(a) === JSON.stringify(b) || detailsText(a) === detailsText(b);
}
