import type { PolicyPrincipal } from '../../../src/trino-rules/model/principal.js';
import { type Answer, type ApiClient, registrant } from '../../support/service/api-client.js';

/** What pages show, made through the API as an administrator. Names are a test's own: workers share a service. */
export class Records {
  constructor(private readonly admin: ApiClient) {}

  /** A person with the password that `passwordOf` has for them. @returns the id */
  async person(username: string): Promise<number> {
    return idOf(await this.admin.post('/api/auth/register', registrant(username)));
  }

  /** The same as an administrator. */
  async administrator(username: string): Promise<number> {
    const id = await this.person(username);
    idOf(await this.admin.patch(`/api/admin/users/${id}`, { role: 'admin' }));
    return id;
  }

  /** A group. @param members people by their ids, or `engine:NAME` @returns its id */
  async group(name: string, ...members: (number | string)[]): Promise<number> {
    const id = idOf(await this.admin.post('/api/admin/groups', { name }));
    for (const member of members) {
      const { status, body } = await this.admin.send('PUT', `/api/admin/groups/${id}/members/${member}`);
      if (status >= 300) throw new Error(JSON.stringify(body));
    }
    return id;
  }

  /** A grant on a node by its dotted path; `''` is everything. @returns its id */
  async grant(
    principal: PolicyPrincipal,
    path: string,
    privileges: readonly string[] = ['SELECT'],
    expiresAt?: string,
  ): Promise<number> {
    const body = { principal, resource: resourceOf(path), privileges };
    const expiring = expiresAt === undefined ? body : { ...body, expires_at: expiresAt };
    return idOf(await this.admin.post('/api/admin/grants', expiring));
  }
}

const LEVELS = ['catalog', 'schema', 'table', 'column'] as const;

function resourceOf(path: string): Record<string, string> {
  const names = path === '' ? [] : path.split('.');
  return Object.fromEntries(names.map((name, level) => [LEVELS[level] ?? '', name]));
}

function idOf({ status, body }: Answer): number {
  if (status >= 300) throw new Error(JSON.stringify(body));
  return Number(body?.['id']);
}
