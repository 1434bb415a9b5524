/** The names of all audit events. They never change, because people filter by them. */
export const AUDIT_EVENTS = [
  'account_registered',
  'administrator_created',
  'account_created',
  'account_renamed',
  'name_freed',
  'account_adopted',
  'external_id_changed',
  'account_linked',
  'account_unlinked',
  'users_imported',
  'login_succeeded',
  'login_failed',
  'login_throttled',
  'registration_throttled',
  'refresh_reused',
  'logout',
  'logout_all',
  'session_confirmed',
  'session_ended',
  'sessions_ended',
  'token_created',
  'token_revoked',
  'password_changed',
  'email_changed',
  'one_time_password_set',
  'account_deactivated',
  'account_activated',
  'role_changed',
  'group_created',
  'group_changed',
  'group_deleted',
  'groups_disregarded',
  'member_added',
  'member_removed',
  'grant_created',
  'grant_revoked',
  'policy_created',
  'policy_changed',
  'policy_deleted',
  'guarantee_created',
  'guarantee_changed',
  'guarantee_deleted',
  'guarantee_broken',
  'guarantee_holds_again',
  'snapshot_applied',
  'publication_applied',
  'publication_refused',
  'publication_failed',
  'publication_approved',
  'unexplained_change',
  'publication_restored',
  'restore_ended',
  'drift_found',
  'database_behind',
] as const;

export type AuditEventName = (typeof AUDIT_EVENTS)[number];

/** The account that acted. An event without a signed-in user, or by the service or its command line, has null instead. */
export interface AuditActor {
  id: number;
  username: string;
  /** The API token that the account used; null or absent: none. */
  token?: { id: string; name: string } | null;
}

export const AUDIT_SUBJECT_TYPES = [
  'user',
  'session',
  'token',
  'group',
  'grant',
  'policy',
  'guarantee',
  'publication',
  'principal',
] as const;
export type AuditSubjectType = (typeof AUDIT_SUBJECT_TYPES)[number];

/** The object that an event is about. `name` is its name at that time, for display. */
export interface AuditSubject {
  type: AuditSubjectType;
  id: string;
  name: string | null;
}

/** An event to record. Holds no secret: no password, token or hash, and no text that was typed into a sign-in. */
export interface AuditEntry {
  event: AuditEventName;
  actor: AuditActor | null;
  subject: AuditSubject | null;
  /** The request that caused the event; null: none. */
  origin: { address: string; requestId: string } | null;
  /** Data whose fields depend on the event. */
  details: Readonly<Record<string, unknown>>;
}

/** Actor and origin of a change: the part that all its audit events share. */
export type AuditContext = Pick<AuditEntry, 'actor' | 'origin'>;

export interface AuditEvent extends AuditEntry {
  /** Later events have higher ids. */
  id: number;
  at: Date;
}

export function userSubject(account: { id: number; username: string }): AuditSubject {
  return { type: 'user', id: String(account.id), name: account.username };
}

/** Conditions on events. An absent field matches every event. */
export interface AuditFilter {
  event?: AuditEventName | undefined;
  /** The actor or the subject: an account's id, or its name in any case. */
  user?: number | string | undefined;
  subject?: { type: string; id: string } | undefined;
  /** A part of the event's name, actor, subject or details, compared without case. */
  text?: string | undefined;
  requestId?: string | undefined;
  /** Earliest moment, inclusive. */
  from?: Date | undefined;
  /** Latest moment, exclusive. */
  to?: Date | undefined;
}

/** A position in the trail. It follows the database's order of events, because the clocks of replicas differ. Opaque outside of the store. */
export type TrailPosition = string;
