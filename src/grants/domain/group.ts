import type { GroupMember } from '../../trino-rules/model/principal.js';
import type { Member as NamedMember } from '../../trino-rules/model/principals.js';

/** The sources that decide a group's name and members: administrators (`local`), or the identity provider by OIDC or SCIM. */
export const GROUP_SOURCES = ['local', 'oidc', 'scim'] as const;
export type GroupSource = (typeof GROUP_SOURCES)[number];

/** A group. Its members are accounts; a local group can also have engine principals. */
export interface Group {
  id: number;
  name: string;
  source: GroupSource;
  /** The identity provider's id of the group; null if it gave none, and for local groups. */
  externalId: string | null;
  description: string | null;
  memberCount: number;
  createdAt: Date;
}

/** A filter of groups. Absent or null fields match all groups. */
export interface GroupFilter {
  text?: string | undefined;
  member: GroupMember | null;
}

export interface Member {
  principal: NamedMember;
  /** Whether the account is active; null for an engine principal. */
  isActive: boolean | null;
  addedAt: Date;
}

export type NewGroup = Pick<Group, 'name' | 'description' | 'source' | 'externalId'>;

export function localGroup(name: string, description: string | null): NewGroup {
  return { name, description, source: 'local', externalId: null };
}

export interface Membership {
  groupId: number;
  member: GroupMember;
}

export interface GroupChange {
  name?: string;
  description?: string | null;
  externalId?: string | null;
}

export interface GroupUse {
  kind: 'grant' | 'policy' | 'guarantee';
  id: number;
}
