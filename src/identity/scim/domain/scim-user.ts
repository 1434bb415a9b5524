import type { Filter } from './filter.js';
import type { ListResult } from './list-request.js';
import type { UserAttributes } from './user-attributes.js';

/** An account as SCIM manages it. */
export interface ScimUser extends UserAttributes {
  id: number;
  groups: readonly { id: number; name: string }[];
  createdAt: Date;
  changedAt: Date;
}

/** What is kept of a user beside the account. */
export type UserProfile = Omit<UserAttributes, 'userName' | 'active'>;

/** The accounts that SCIM manages. A deleted one is gone from here. */
export abstract class ScimUserStore {
  abstract find(id: number): Promise<ScimUser | null>;
  /** The same; until the transaction ends nobody else changes it. */
  abstract lock(id: number): Promise<ScimUser | null>;
  /** Locked: an inactive one with the external id; or with the name, where one of both has no external id, and no other person signs in to it. Null: none. */
  abstract lockInactive(asked: Pick<UserAttributes, 'userName' | 'externalId'>): Promise<ScimUser | null>;
  /** By id. */
  abstract list(filter: Filter | null, offset: number, count: number): Promise<ListResult<ScimUser>>;
  /** Makes the account `id` one of SCIM's, or changes it. False: another one has the external id. */
  abstract put(id: number, profile: UserProfile, at: Date): Promise<boolean>;
  /** Of the person who signs in to the account at the provider; null: nobody does. */
  abstract linkedSubject(id: number): Promise<string | null>;
  abstract remove(id: number): Promise<void>;
}
