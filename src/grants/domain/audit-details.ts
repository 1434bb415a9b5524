import { canonicalJson } from '../../kernel/json-reader.js';
import type { AuditContext, AuditEntry, AuditEventName } from '../../audit/domain/audit-event.js';
import { brokenText, type GuaranteeVerdict } from '../../trino-rules/answers/guarantee-verdicts.js';
import { guaranteeFields } from '../../trino-rules/model/guarantee-file.js';
import { mapPrincipal } from '../../trino-rules/model/node.js';
import { type GroupMember, type PolicyPrincipal, principalText } from '../../trino-rules/model/principal.js';
import type { SnapshotGrant, SnapshotPolicy } from '../../trino-rules/model/snapshot.js';
import type { Grant, GrantOutcome, RevokeOutcome } from './grant.js';
import type { Group } from './group.js';
import type { RecordedGuarantee } from './guarantee.js';
import type { Policy, PolicyDraft } from './policy.js';

/** The details of an audit event about a grant or policy. They can be compared with details made from the current row. */
export type AuditDetails = Readonly<Record<string, unknown>>;

export function grantDetails({
  principal,
  resource,
  privileges,
  expiresAt,
}: Omit<SnapshotGrant, 'id' | 'revokedAt'>): AuditDetails {
  return {
    principal: principalText(principal),
    resource: resourceDetails(resource),
    privileges,
    expires_at: expiresAt?.toISOString() ?? null,
  };
}

/** A node with ids instead of names of users and groups, because names change. */
function resourceDetails(resource: SnapshotPolicy['resource']): AuditDetails {
  return mapPrincipal(resource, principalText);
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

export function creationEvents(outcomes: readonly GrantOutcome[], context: AuditContext): AuditEntry[] {
  return outcomes.filter(({ isNew }) => isNew).map(({ grant }) => grantEvent('grant_created', grant, context));
}

export function revocationEvents(outcomes: readonly (RevokeOutcome | null)[], context: AuditContext): AuditEntry[] {
  return outcomes.flatMap((outcome) =>
    outcome?.isNewlyRevoked === true ? [grantEvent('grant_revoked', outcome.grant, context)] : [],
  );
}

function grantEvent(event: 'grant_created' | 'grant_revoked', grant: Grant, context: AuditContext): AuditEntry {
  const subject = { type: 'grant' as const, id: String(grant.id), name: null };
  return { event, ...context, subject, details: grantDetails(grant) };
}

export function policyEvent(
  event: 'policy_created' | 'policy_changed' | 'policy_deleted',
  { id, rule, principal, except }: Policy,
  context: AuditContext,
): AuditEntry {
  const details = policyDetails({ ...rule, principal, except });
  return { event, ...context, subject: { type: 'policy', id: String(id), name: null }, details };
}

/** The event of a guarantee that was created (`oldGuarantee` is null), changed, or deleted (`newGuarantee` is null). */
export function guaranteeEvent(
  oldGuarantee: RecordedGuarantee | null,
  newGuarantee: RecordedGuarantee | null,
  context: AuditContext,
): AuditEntry {
  const event = oldGuarantee ? (newGuarantee ? 'guarantee_changed' : 'guarantee_deleted') : 'guarantee_created';
  const { id = 0, name = '' } = (newGuarantee ?? oldGuarantee)?.guarantee ?? {};
  const detailsOf = (field: 'before' | 'after', guarantee: RecordedGuarantee | null): AuditDetails | null =>
    guarantee && {
      [field]: { ...guaranteeFields(guarantee.guarantee, (each) => each), description: guarantee.description },
    };
  const details = { ...detailsOf('before', oldGuarantee), ...detailsOf('after', newGuarantee) };
  return { event, ...context, subject: { type: 'guarantee', id: String(id), name }, details };
}

/** The event of a guarantee that has become broken, or holds again. */
export function verdictEvent(verdict: GuaranteeVerdict, context: AuditContext): AuditEntry {
  const { id, name, isBroken, brokenBy } = verdict;
  const details = isBroken ? { message: brokenText(verdict), broken_by: brokenBy } : {};
  const subject = { type: 'guarantee' as const, id: String(id), name };
  return { event: isBroken ? 'guarantee_broken' : 'guarantee_holds_again', ...context, subject, details };
}

export function groupEvent(
  event: Extract<AuditEventName, `group_${string}` | `member_${string}`>,
  { id, name }: Pick<Group, 'id' | 'name'>,
  context: AuditContext,
  details: AuditDetails,
): AuditEntry {
  return { event, ...context, subject: { type: 'group', id: String(id), name }, details };
}

/** Details of an event about a member that joins or leaves a group. */
export function memberDetails(member: GroupMember): AuditDetails {
  return member.type === 'user' ? { user_id: member.id } : { engine: member.name };
}

/** Whether two details are equal. The first comparison is faster and nearly always enough, because equal details mostly have the same order of keys. */
export function equalDetails(a: AuditDetails, b: AuditDetails): boolean {
  return JSON.stringify(a) === JSON.stringify(b) || canonicalJson(a) === canonicalJson(b);
}
