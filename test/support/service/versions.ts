import type { ApiClient } from './api-client.js';

/**
 * Makes an entry, and expects that nobody replaces or deletes it by an older version than its last one.
 * @param list path of the list; the entry is deleted in the end
 */
export async function expectVersions(admin: ApiClient, list: string, body: object): Promise<void> {
  const made = await admin.post(list, body);
  const path = made.headers.get('location') ?? '';
  const condition = (ifMatch?: string) => (ifMatch === undefined ? {} : { 'If-Match': ifMatch });
  const put = (description: string, ifMatch?: string) =>
    admin.send('PUT', path, { ...body, description }, condition(ifMatch));
  const remove = async (ifMatch: string) => (await admin.send('DELETE', path, undefined, condition(ifMatch))).status;
  const version = async () => (await admin.get(path)).headers.get('etag') ?? '';
  const first = made.headers.get('etag') ?? '';
  expect(await version()).toBe(first);

  const changed = await put('second', first);
  expect(changed).toMatchObject({ status: 200, body: { description: 'second' } });
  const second = changed.headers.get('etag') ?? '';
  expect(second).not.toBe(first);
  expect(await version()).toBe(second);
  expect(await put('third', first)).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
  expect(await remove(first)).toBe(412);
  expect(await admin.get(path)).toMatchObject({ status: 200, body: { description: 'second' } });
  const atOnce = await Promise.all([put('fourth', second), put('fifth', second)]);
  expect(atOnce.map(({ status }) => status).sort()).toEqual([200, 412]);
  expect(await put('sixth')).toMatchObject({ status: 200, body: { description: 'sixth' } });
  expect(await remove('*')).toBe(204);
  expect(await remove(first)).toBe(204);
}
