import { idOf, type ScimClient, scimUser } from './scim-client.js';

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
