import { linesWithSecrets, noteSecrets, noteStatement, withoutHandedOver } from './secrets.js';

/** What a web client does, over real HTTP. */
export class ApiClient {
  /** @param service or its URL, which a shared service has only once its specs begin */
  constructor(
    private readonly service: string | { readonly url: string },
    private readonly signedInWith: string | null = null,
  ) {}

  /** @throws Error without a session */
  get token(): string {
    if (this.signedInWith === null) throw new Error('there is no session');
    return this.signedInWith;
  }

  as(token: string): ApiClient {
    return new ApiClient(this.service, token);
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  post(path: string, body?: unknown): Promise<Answer> {
    return this.send('POST', path, body);
  }

  patch(path: string, body: unknown): Promise<Answer> {
    return this.send('PATCH', path, body);
  }

  delete(path: string): Promise<Answer> {
    return this.send('DELETE', path);
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const url = typeof this.service === 'string' ? this.service : this.service.url;
    const response = await fetch(url + path, {
      method,
      headers: {
        // A process that ends waits a second for clients that keep their connections.
        ...(typeof this.service === 'string' ? { Connection: 'close' } : {}),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(this.signedInWith === null ? {} : { Authorization: `Bearer ${this.signedInWith}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const answer = {
      status: response.status,
      headers: response.headers,
      body: text === '' ? null : (JSON.parse(text) as Body),
    };
    expectNoSecrets(`${method} ${path}`, body, answer);
    return answer;
  }
}

/** Every answer is searched for every secret that the spec file has used, but where it is there to hand one over. */
function expectNoSecrets(route: string, sent: unknown, { body, headers }: Answer): void {
  noteSecrets(sent);
  if (typeof sent === 'object' && sent !== null && 'sql' in sent && typeof sent.sql === 'string')
    noteStatement(sent.sql);
  noteSecrets(body);
  const text = JSON.stringify([body === null ? null : withoutHandedOver(body), ...headers]);
  if (linesWithSecrets([text], []).length > 0) throw new Error(`a secret is in the answer to ${route}: ${text}`);
}

type Body = Record<string, unknown>;

export interface Answer {
  status: number;
  headers: Headers;
  body: Body | null;
}

export interface Tokens {
  access_token: string;
  refresh_token: string;
}

/** The tokens in the answer of a login or a refresh. */
export function tokensOf(answer: Answer | undefined): Tokens {
  const { access_token, refresh_token } = answer?.body ?? {};
  if (typeof access_token !== 'string' || typeof refresh_token !== 'string') {
    throw new Error(`no tokens in ${JSON.stringify(answer)}`);
  }
  return { access_token, refresh_token };
}

/** A valid registration; override only what matters. */
export function registrant(username: string, overrides: Record<string, unknown> = {}): Record<string, unknown> {
  return { username, email: `${username}@example.org`, password: passwordOf(username), ...overrides };
}

export function passwordOf(username: string): string {
  return `the password of ${username}`;
}

/** Registers a person and signs them in. */
export async function signedUp(client: ApiClient, username: string): Promise<Tokens & { id: number }> {
  const { status, body } = await client.post('/api/auth/register', registrant(username));
  if (status !== 201) throw new Error(`${username} was not registered: ${JSON.stringify(body)}`);
  const tokens = await signIn(client, username);
  return { ...tokens, id: Number(body?.['id']) };
}

export async function signIn(client: ApiClient, username: string, password = passwordOf(username)): Promise<Tokens> {
  return tokensOf(await client.post('/api/auth/login', { username, password }));
}
