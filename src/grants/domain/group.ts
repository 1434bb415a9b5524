import type { NamePageRequest, Page, PageRequest } from '../../kernel/page.js';
import type { GroupMember } from '../../trino-rules/model/principal.js';
import type { Member as NamedMember } from '../../trino-rules/model/principals.js';

/** Grantline's own group; its members are accounts and engine principals. */
export interface Group {
  id: number;
  name: string;
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

export interface NewGroup {
  name: string;
  description: string | null;
}

export interface Membership {
  groupId: number;
  member: GroupMember;
}

export interface GroupChange {
  name?: string;
  description?: string | null;
}

/** Groups. A deleted group counts as missing. */
export abstract class GroupStore {
  /** In their order. Null: another group has that name, compared without case. */
  abstract create(groups: readonly NewGroup[], at: Date): Promise<(Group | null)[]>;
  abstract change(id: number, change: GroupChange): Promise<Group | 'missing' | 'name-taken'>;
  /** `in-use`: a live grant or a policy refers to it. `gone`: it was deleted before. */
  abstract delete(id: number, at: Date): Promise<'deleted' | 'gone' | 'missing' | 'in-use'>;
  abstract find(id: number): Promise<Group | null>;
  /** By id. */
  abstract list(filter: GroupFilter, page: PageRequest): Promise<Page<Group>>;
  /** By name; null: no such group. */
  abstract members(id: number, page: NamePageRequest): Promise<Page<Member> | null>;
  /** The outcome of each, in their order. `missing`: no such group, or no such account. Names of engine principals must be claimed. */
  abstract addMembers(added: readonly Membership[], at: Date): Promise<('added' | 'was-member' | 'missing')[]>;
  abstract removeMembers(removed: readonly Membership[]): Promise<('removed' | 'was-none' | 'missing')[]>;
}
