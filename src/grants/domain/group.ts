import type { GroupMember } from '../../trino-rules/model/principal.js';
import type { Member as NamedMember } from '../../trino-rules/model/principals.js';

/** Who says how a group is called and which members it has: administrators, or the identity provider alone, by one of two ways. */
export const GROUP_SOURCES = ['local', 'oidc', 'scim'] as const;
export type GroupSource = (typeof GROUP_SOURCES)[number];

/** A group; its members are accounts and, of a local one, engine principals. */
export interface Group {
  id: number;
  name: string;
  source: GroupSource;
  /** The identity provider's own id of it. */
  externalId: string | null;
  description: string | null;
  memberCount: number;
  createdAt: Date;
}

/** Which groups. Absent or null: any. */
export interface GroupFilter {
  /** Part of the name, in any case. */
  text?: string | undefined;
  member: GroupMember | null;
}

export interface Member {
  principal: NamedMember;
  /** Of an account; null: an engine principal. */
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
  kind: 'grant' | 'policy';
  id: number;
}
