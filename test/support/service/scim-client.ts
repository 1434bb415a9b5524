import { ApiClient, type Answer } from './api-client.js';

/** The token of the services that specs start for SCIM. */
export const SCIM_TOKEN = 'a-token-of-the-identity-provider-0123456789';

export const URN = {
  user: 'urn:ietf:params:scim:schemas:core:2.0:User',
  group: 'urn:ietf:params:scim:schemas:core:2.0:Group',
  enterprise: 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  patch: 'urn:ietf:params:scim:api:messages:2.0:PatchOp',
} as const;

/** An identity provider that pushes people and groups. */
export class ScimClient {
  private readonly api: ApiClient;

  constructor(
    service: string | { readonly url: string },
    token = SCIM_TOKEN,
    private readonly type = 'application/scim+json; charset=utf-8',
  ) {
    this.api = new ApiClient(service).as(token);
  }

  send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const type: Record<string, string> = body === undefined ? {} : { 'Content-Type': this.type };
    return this.api.send(method, `/api/scim/v2${path}`, body, { ...type, ...headers });
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.send('POST', path, body);
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.send('PUT', path, body);
  }

  patch(path: string, ...operations: object[]): Promise<Answer> {
    return this.send('PATCH', path, { schemas: [URN.patch], Operations: operations });
  }

  delete(path: string): Promise<Answer> {
    return this.send('DELETE', path);
  }

  /** Those that a filter finds. */
  async found(path: string, filter: string): Promise<Record<string, unknown>[]> {
    const { status, body } = await this.get(`${path}?filter=${encodeURIComponent(filter)}`);
    if (status !== 200) throw new Error(`${filter}: ${JSON.stringify(body)}`);
    return body?.['Resources'] as Record<string, unknown>[];
  }

  /** The path of a new one. */
  async made(path: string, body: object): Promise<string> {
    const answer = await this.post(path, body);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return `${path}/${String(answer.body?.['id'])}`;
  }
}

/** What both Okta and Microsoft Entra send of a person. */
export function scimUser(userName: string, more: object = {}): object {
  return { schemas: [URN.user], userName, externalId: `ext-${userName}`, active: true, ...more };
}

export function scimGroup(displayName: string, more: object = {}): object {
  return { schemas: [URN.group], displayName, ...more };
}

export const idOf = (path: string): string => path.split('/').at(-1) ?? '';

type Getting = Pick<ApiClient, 'get'>;

/** The account of a SCIM user, as administrators see it. */
export async function accountBehind(administrator: Getting, path: string): Promise<Record<string, unknown> | null> {
  return (await administrator.get(`/api/admin/users/${idOf(path)}`)).body;
}

/** What the audit trail has about it, the oldest first. */
export async function eventsAbout(
  administrator: Getting,
  path: string,
  type: 'user' | 'group' = 'user',
): Promise<{ event: string; details: object; actor: unknown }[]> {
  const { body } = await administrator.get(`/api/admin/audit?subject=${type}:${idOf(path)}`);
  return (body?.['items'] as { event: string; details: object; actor: unknown }[]).reverse();
}

/** The status of an answer, and SCIM's word for what is wrong. */
export async function statusOf(answer: Promise<{ status: number; body: Record<string, unknown> | null }>) {
  const { status, body } = await answer;
  return [status, body?.['scimType'] ?? null];
}
