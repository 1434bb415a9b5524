import type { NamePageRequest, Page, PageRequest } from '../../kernel/page.js';
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

/** Which groups. Null: any. */
export interface GroupFilter {
  /** Part of the name, in any case. */
  text: string | null;
  member: GroupMember | null;
}

export interface Member {
  principal: NamedMember;
  /** Of an account; null: an engine principal. */
  isActive: boolean | null;
  addedAt: Date;
}

export type NewGroup = Pick<Group, 'name' | 'description' | 'source' | 'externalId'>;

/** A group that administrators make. */
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

/** A grant or a policy that names a group. */
export interface GroupUse {
  kind: 'grant' | 'policy';
  id: number;
}

/** Groups. A deleted group counts as missing. */
export abstract class GroupStore {
  /** In their order. Null: another group has that name, compared without case. */
  abstract create(groups: readonly NewGroup[], at: Date): Promise<(Group | null)[]>;
  abstract change(id: number, change: GroupChange, at: Date): Promise<Group | 'missing' | 'name-taken'>;
  /** `uses`: live grants and policies that refer to it, the first of them. `gone`: it was deleted before. */
  abstract delete(id: number, at: Date): Promise<'deleted' | 'gone' | 'missing' | { uses: GroupUse[] }>;
  abstract find(id: number): Promise<Group | null>;
  /** Of one that is not deleted; its members are not counted for it. */
  abstract nameOf(id: number): Promise<string | null>;
  /** Of these names, in any case. */
  abstract named(names: readonly string[]): Promise<Group[]>;
  /** By id. */
  abstract list(filter: GroupFilter, page: PageRequest): Promise<Page<Group>>;
  /** By name; null: no such group. */
  abstract members(id: number, page: NamePageRequest): Promise<Page<Member> | null>;
  /** The outcome of each, in their order. `missing`: no such group, or no such account. Names of engine principals must be claimed. */
  abstract addMembers(added: readonly Membership[], at: Date): Promise<('added' | 'was-member' | 'missing')[]>;
  abstract removeMembers(removed: readonly Membership[], at: Date): Promise<('removed' | 'was-none' | 'missing')[]>;
}
