import { people, sharedAdministrator } from './administrator.js';
import type { sharedService } from './service.js';

export const GUARANTEES = '/api/admin/guarantees';
export const GRANTS = '/api/admin/grants';

/** The answer about a write that would break a guarantee. */
export const BROKEN = { status: 409, body: { code: 'guarantee_broken' } };

/** Ana, bob and cyd, and what an administrator makes for them; guarantees are gone after each test. */
export function guaranteesOf(service: ReturnType<typeof sharedService>) {
  const admin = sharedAdministrator(service);
  const ids = { ana: 0, bob: 0, cyd: 0 };
  beforeAll(async () => void Object.assign(ids, await people(service, 'ana', 'bob', 'cyd')));

  let groups = 0;
  const group = async (...members: number[]) => {
    const { body } = await admin.post('/api/admin/groups', { name: `group ${++groups}` });
    const id = Number(body?.['id']);
    for (const member of members) await admin.send('PUT', `/api/admin/groups/${id}/members/${member}`);
    return { type: 'group', id };
  };
  const user = (name: keyof typeof ids) => ({ type: 'user', id: ids[name] });
  const grant = (principal: object, resource: object, ...privileges: string[]) =>
    admin.post(GRANTS, { principal, resource, privileges });
  const made = async (guarantee: object) => {
    const { status, body } = await admin.post(GUARANTEES, guarantee);
    expect({ status, body }).toMatchObject({ status: 201 });
    return Number(body?.['id']);
  };
  afterEach(async () => {
    const { body } = await admin.get(`${GUARANTEES}?limit=200`);
    for (const { id } of body?.['items'] as { id: number }[]) await admin.send('DELETE', `${GUARANTEES}/${id}`);
  });
  return { admin, ids, group, user, grant, made };
}
