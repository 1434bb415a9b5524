import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { noteSecret } from '../service/secrets.js';

interface Canned {
  status?: number;
  headers?: Record<string, string>;
  /** Text goes out as it is, anything else as JSON. */
  body?: unknown;
  /** Close the connection instead of answering. */
  hangUp?: boolean;
}

const CLAIMS = { preferred_username: 'service-account-grantline', aud: 'account' };

/** The token endpoint of one realm, answering as Keycloak 26.7 was seen to answer. */
export class FakeKeycloak {
  /** `issuer/…/token` requests so far, as their forms. */
  readonly requests: URLSearchParams[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  /** Answers that replace the next ones. */
  instead: Canned[] = [];
  secret = 'grantline-secret';
  tokenPath = '/realms/data/protocol/openid-connect/token';
  /** Refuses requests without it, as Entra and Okta do; null: as Keycloak. */
  requiredScope: string | null = null;
  /** Of every token. */
  claims: Record<string, unknown> = CLAIMS;
  /** `expires_in` of every token answer, in seconds. */
  expiresIn: unknown = 299;
  /** While set, answers wait for it. */
  gate: Promise<void> | null = null;
  private issued = 0;
  private readonly server: Server = createServer((request, response) => void this.serve(request, response));

  /** @returns the issuer URL. */
  async listen(): Promise<string> {
    await new Promise<void>((ready) => this.server.listen(0, '127.0.0.1', ready));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/realms/data`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  /** The token that the n-th good answer carried, from 1. */
  static token(n: number, claims: Record<string, unknown> = CLAIMS): string {
    return `eyJhbGciOiJSUzI1NiJ9.${Buffer.from(JSON.stringify({ ...claims, n })).toString('base64url')}.c2lnbmF0dXJl`;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    this.requests.push(form);
    this.headers.push(request.headers);
    await this.gate;
    const canned = this.instead.shift();
    if (canned?.hangUp === true) {
      request.socket.destroy();
      return;
    }
    const { status, body } = canned === undefined ? this.grant(request, form) : { status: 200, body: '', ...canned };
    response.writeHead(status, { 'Content-Type': 'application/json', ...canned?.headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  private grant(request: IncomingMessage, form: URLSearchParams): { status: number; body: unknown } {
    const known =
      request.method === 'POST' &&
      request.url === this.tokenPath &&
      request.headers['content-type'] === 'application/x-www-form-urlencoded';
    if (!known) return { status: 404, body: { error: 'HTTP 404 Not Found' } };
    if (form.get('grant_type') !== 'client_credentials') {
      return { status: 400, body: { error: 'unsupported_grant_type', error_description: 'Unsupported grant_type' } };
    }
    if (this.requiredScope !== null && form.get('scope') !== this.requiredScope) {
      return { status: 400, body: { error: 'invalid_scope', error_description: 'The scope is not valid.' } };
    }
    noteSecret(form.get('client_secret') ?? '');
    if (form.get('client_id') !== 'grantline' || form.get('client_secret') !== this.secret) {
      const description = 'Invalid client or Invalid client credentials';
      return { status: 401, body: { error: 'unauthorized_client', error_description: description } };
    }
    this.issued += 1;
    const body = {
      access_token: FakeKeycloak.token(this.issued, this.claims),
      expires_in: this.expiresIn,
      refresh_expires_in: 0,
      token_type: 'Bearer',
      'not-before-policy': 0,
      scope: 'profile email',
    };
    return { status: 200, body };
  }
}
