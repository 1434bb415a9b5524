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

export interface GroupChange {
  name?: string;
  description?: string | null;
}

/** Groups. A deleted group counts as missing. */
export abstract class GroupStore {
  /** Null: another group has that name, compared without case. */
  abstract create(name: string, description: string | null, at: Date): Promise<Group | null>;
  abstract change(id: number, change: GroupChange): Promise<Group | 'missing' | 'name-taken'>;
  /** `in-use`: a live grant or a policy refers to it. `gone`: it was deleted before. */
  abstract delete(id: number, at: Date): Promise<'deleted' | 'gone' | 'missing' | 'in-use'>;
  abstract find(id: number): Promise<Group | null>;
  /** By id. */
  abstract list(page: PageRequest): Promise<Page<Group>>;
  /** By the account's id; null: no such group. */
  abstract members(id: number, page: PageRequest): Promise<Page<Member> | null>;
  /** `missing`: no such group, or no such account. */
  abstract addMember(id: number, userId: number, at: Date): Promise<'added' | 'was-member' | 'missing'>;
  abstract removeMember(id: number, userId: number): Promise<'removed' | 'was-none' | 'missing'>;
}
