import type { Filter } from './filter.js';
import type { ListResult } from './list-request.js';

/** A group as SCIM manages it. */
export interface ScimGroup {
  id: number;
  name: string;
  externalId: string | null;
  /** Ids of users, rising; null: not asked for. */
  members: readonly number[] | null;
  /** Rises with each change of it or its members. */
  version: number;
  createdAt: Date;
  changedAt: Date;
}

/** Members in one answer of a list: its page ends early rather than with more. */
export const MOST_LISTED_MEMBERS = 50_000;

/** Reads of the groups that SCIM manages. */
export abstract class ScimGroupStore {
  abstract find(id: number, withMembers: boolean): Promise<ScimGroup | null>;
  /** Without members; until the transaction ends nobody else changes it. */
  abstract lock(id: number): Promise<ScimGroup | null>;
  /** By id. With members there are fewer than `count` where they have more than MOST_LISTED_MEMBERS. */
  abstract list(
    filter: Filter | null,
    page: { offset: number; count: number },
    withMembers: boolean,
  ): Promise<ListResult<ScimGroup>>;
  /** @param among whom; null: all */
  abstract members(id: number, among: readonly number[] | null): Promise<number[]>;
  /** Those of the ids that are users of SCIM's, until the transaction ends. */
  abstract users(ids: readonly number[]): Promise<ReadonlySet<number>>;
}
