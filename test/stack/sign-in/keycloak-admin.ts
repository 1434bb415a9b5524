import type { PeopleRealm } from '../running/people-realm.js';
import { serviceToken } from '../running/identity-provider.js';

interface SignInClient {
  id: string;
  attributes: object;
  redirectUris: string[];
}

/** What an administrator of the realm does there. */
export class KeycloakAdmin {
  private readonly url: string;

  constructor(
    private readonly issuer: string,
    private readonly realm: PeopleRealm,
  ) {
    this.url = issuer.replace('/realms/', '/admin/realms/');
  }

  async setEnabled(username: string, enabled: boolean): Promise<void> {
    await this.send('PUT', `/users/${await this.userId(username)}`, { enabled });
  }

  async join(username: string, group: string): Promise<void> {
    await this.send('PUT', await this.membership(username, group));
  }

  async leave(username: string, group: string): Promise<void> {
    await this.send('DELETE', await this.membership(username, group));
  }

  /** Ends all sessions of somebody there. */
  async signOut(username: string): Promise<void> {
    await this.send('POST', `/users/${await this.userId(username)}/logout`);
  }

  /** Where the provider calls the service when a session ends. */
  async setBackchannel(url: string): Promise<void> {
    const backchannel = { 'backchannel.logout.url': url, 'backchannel.logout.session.required': 'true' };
    await this.changeClient(({ attributes }) => ({ attributes: { ...attributes, ...backchannel } }));
  }

  /** A service at another address, to which the provider sends people back as well. */
  async allowReturn(publicUrl: string): Promise<void> {
    const callback = `${publicUrl}/api/auth/oidc/callback`;
    await this.changeClient(({ redirectUris }) => ({ redirectUris: [...redirectUris, callback] }));
  }

  /** A new key, which signs from now on; the former one stays in the key set. */
  async rotateKeys(): Promise<void> {
    const { id } = await this.send<{ id: string }>('GET', '');
    await this.send('POST', '/components', {
      ...{ name: 'next-key', providerId: 'rsa-generated', providerType: 'org.keycloak.keys.KeyProvider', parentId: id },
      config: { priority: ['200'], enabled: ['true'], active: ['true'], algorithm: ['RS256'] },
    });
  }

  private async changeClient(change: (client: SignInClient) => Partial<SignInClient>): Promise<void> {
    const [client] = await this.send<SignInClient[]>('GET', `/clients?clientId=${this.realm.signIn.id}`);
    if (client === undefined) throw new Error('there is no such client');
    await this.send('PUT', `/clients/${client.id}`, { ...client, ...change(client) });
  }

  private async membership(username: string, group: string): Promise<string> {
    const [found] = await this.send<{ id: string }[]>('GET', `/groups?exact=true&search=${group}`);
    if (found === undefined) throw new Error(`there is no group ${group}`);
    return `/users/${await this.userId(username)}/groups/${found.id}`;
  }

  private async userId(username: string): Promise<string> {
    const [user] = await this.send<{ id: string }[]>('GET', `/users?exact=true&username=${username}`);
    if (user === undefined) throw new Error(`nobody is called ${username}`);
    return user.id;
  }

  private async send<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.url + path, {
      method,
      headers: {
        Authorization: `Bearer ${await serviceToken(this.issuer, this.realm.administrator)}`,
        'Content-Type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return (text === '' ? null : JSON.parse(text)) as T;
  }
}
