import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { Claims, FakeIdentityProvider } from '../fakes/fake-identity-provider.js';
import { type Answer, ApiClient } from './api-client.js';

/** Where the web client takes people back. */
export const RETURN_TO = 'https://app.example.org/signed-in?tab=2';

/** Four digits, none of which an address is written without. */
const group = () => randomInt(0x1000, 0x10000).toString(16);

/** A browser with its cookies, and the web client that runs in it. */
export class OidcBrowser {
  readonly cookies = new Map<string, string>();
  readonly verifier = randomBytes(32).toString('base64url');
  /** Where proxies are trusted: of a network of its own. */
  address = `2001:db8:${group()}:${group()}::1`;

  constructor(private readonly service: { readonly url: string }) {}

  /** Begins to sign in. @returns the provider's address, or the one of a failure */
  async start(returnTo = RETURN_TO, more: Record<string, string> = {}): Promise<string> {
    const challenge = createHash('sha256').update(this.verifier).digest('base64url');
    const query = new URLSearchParams({ return_to: returnTo, code_challenge: challenge, ...more });
    return this.go(`/api/auth/oidc/start?${query.toString()}`);
  }

  /** Comes back from the provider. @returns the parameters that the web client gets */
  async finish(answer: URLSearchParams): Promise<Record<string, string>> {
    return this.back(await this.go(`/api/auth/oidc/callback?${answer.toString()}`));
  }

  /** Begins to sign in, and is sent back at once. @returns the parameters that the web client gets */
  async turnedBack(): Promise<Record<string, string>> {
    return this.back(await this.start());
  }

  private back(location: string): Record<string, string> {
    const { origin, pathname, searchParams } = new URL(location);
    const { tab, ...rest } = Object.fromEntries(searchParams);
    if (origin + pathname !== 'https://app.example.org/signed-in' || tab !== '2') {
      throw new Error(`the web client is elsewhere than ${origin}${pathname}`);
    }
    return rest;
  }

  /** The whole way. */
  async signIn(provider: FakeIdentityProvider, claims?: Claims): Promise<Record<string, string>> {
    return this.finish(provider.signIn(await this.start(), claims));
  }

  /** A request of one of our own pages, with the cookies. */
  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const headers = { Cookie: this.cookieHeader(), 'Sec-Fetch-Site': 'same-origin' };
    const answer = await new ApiClient(this.service).send(method, path, body, headers);
    for (const cookie of answer.headers.getSetCookie()) this.keep(cookie);
    return answer;
  }

  /** Where a path leads. */
  async go(path: string): Promise<string> {
    const answer = await fetch(this.service.url + path, {
      redirect: 'manual',
      headers: { Cookie: this.cookieHeader(), 'X-Forwarded-For': this.address },
    });
    for (const cookie of answer.headers.getSetCookie()) this.keep(cookie);
    const location = answer.headers.get('location');
    if (location === null) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return location;
  }

  private cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  private keep(cookie: string): void {
    const [pair = '', ...attributes] = cookie.split('; ');
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}
