import type { Page, PageRequest } from '../../kernel/page.js';

/** Grantline's own group; its members are accounts. */
export interface Group {
  id: number;
  name: string;
  description: string | null;
  memberCount: number;
  createdAt: Date;
}

export interface Member {
  id: number;
  name: string;
  isActive: boolean;
  addedAt: Date;
}

export interface NewGroup {
  name: string;
  description: string | null;
}

export interface Membership {
  groupId: number;
  userId: number;
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
  abstract list(page: PageRequest): Promise<Page<Group>>;
  /** By the account's id; null: no such group. */
  abstract members(id: number, page: PageRequest): Promise<Page<Member> | null>;
  /** The outcome of each, in their order. `missing`: no such group, or no such account. */
  abstract addMembers(added: readonly Membership[], at: Date): Promise<('added' | 'was-member' | 'missing')[]>;
  abstract removeMembers(removed: readonly Membership[]): Promise<('removed' | 'was-none' | 'missing')[]>;
}
