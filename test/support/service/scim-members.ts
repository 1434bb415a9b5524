import { idOf, type ScimClient, scimUser } from './scim-client.js';

/** Makes so many people of SCIM's (`$1`) without their requests. @returns rows with their ids */
export const MANY_PEOPLE = `
  WITH names AS (INSERT INTO principal_names (name, holder, claimed_at, account_key)
    SELECT 'many ' || n, 'account', now(), 'many ' || n FROM generate_series(1, $1::integer) n RETURNING name),
  made AS (INSERT INTO users (username, role, source, is_active, created_at)
    SELECT name, 'user', 'scim', true, now() FROM names RETURNING id)
  INSERT INTO scim_users (user_id, emails, changed_at) SELECT id, '[]', now() FROM made RETURNING user_id AS id`;

/** Four people whom SCIM made, by their numbers from 0 on. */
export interface ScimMembers {
  id: (at: number) => string;
  /** As a body has members. */
  some: (...at: number[]) => { value: string }[];
  /** Who of them is in a group. */
  of: (path: string) => Promise<number[]>;
  /** Who of them is in a group after a PATCH; or its status, and SCIM's word for what is wrong. */
  patched: (path: string, ...operations: object[]) => Promise<unknown[]>;
}

/** Made before the specs of the suite. */
export function sharedMembers(scim: ScimClient): ScimMembers {
  const ids: string[] = [];
  beforeAll(async () => {
    for (const name of ['ann', 'ben', 'cyd', 'dan']) ids.push(idOf(await scim.made('/Users', scimUser(name))));
  });
  const id = (at: number): string => ids[at] ?? '';
  const of = async (path: string): Promise<number[]> => {
    const { body } = await scim.get(path);
    return ((body?.['members'] ?? []) as { value: string }[]).map(({ value }) => ids.indexOf(value)).sort();
  };
  return {
    id,
    of,
    some: (...at) => at.map((each) => ({ value: id(each) })),
    patched: async (path, ...operations) => {
      const { status, body } = await scim.patch(path, ...operations);
      return status === 204 ? of(path) : [status, body?.['scimType'] ?? null];
    },
  };
}
