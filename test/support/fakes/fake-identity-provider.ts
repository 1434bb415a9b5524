import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { Clock } from '../../../src/kernel/clock.js';
import { noteSecret } from '../service/secrets.js';

export type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;

/** The first of every provider, the second, and so on: to make one takes a quarter of a second, and no two are told apart by their keys. */
const PAIRS: Promise<KeyPair>[] = [];

/** What somebody who signs in makes of the ID token; a function changes all of it. */
export type Claims = JWTPayload | ((usual: JWTPayload) => JWTPayload);

interface Issued {
  claims: Claims;
  nonce: string;
  challenge: string;
}

interface Reply {
  status: number;
  body: unknown;
}

/** A request's answer in the place of the usual one; `hang`: none ever. */
export type Instead = ((request: IncomingMessage, response: ServerResponse) => void) | 'hang';

/** One realm of an OpenID provider, answering as Keycloak 26.7 was seen to answer, or as it is told to. */
export class FakeIdentityProvider {
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  /** Answers by path. */
  readonly instead = new Map<string, Instead>();
  readonly secret = `the-secret-${randomUUID()}`;
  /** Seconds by which its clock is ahead. */
  ahead = 0;
  issuer = '';
  /** Signs in the place of the last key. */
  forge: ((payload: JWTPayload, key: { kid: string; pair: KeyPair }) => string | Promise<string>) | null = null;
  /** By `kid`; the last one signs. */
  readonly keys = new Map<string, KeyPair>();
  /** Of people who signed in. */
  readonly refreshTokens = new Map<string, Issued>();
  /** Whether a refresh token serves once. */
  isRotating = false;
  /** Subjects whom it has disabled. */
  readonly leavers = new Set<unknown>();
  /** Claims that have changed since somebody signed in. */
  changed: JWTPayload = {};
  private readonly codes = new Map<string, Issued>();
  private readonly server: Server = createServer((request, response) => void this.serve(request, response));

  constructor(private readonly clock: Clock) {}

  /** @returns the issuer */
  async listen(): Promise<string> {
    await new Promise<void>((ready) => this.server.listen(0, '127.0.0.1', ready));
    this.issuer = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/realms/data`;
    await this.rotate();
    return this.issuer;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  /** A new key signs at once; the former ones stay in the set. */
  async rotate(): Promise<string> {
    const kid = randomUUID();
    this.keys.set(kid, await (PAIRS[this.keys.size] ??= generateKeyPair('RS256', { extractable: true })));
    return kid;
  }

  /** Somebody signs in at the address that they were sent to. @returns what the browser brings back */
  signIn(location: string, claims: Claims = {}): URLSearchParams {
    const asked = new URL(location).searchParams;
    const code = randomUUID();
    const nonce = asked.get('nonce') ?? '';
    this.codes.set(code, { claims, nonce, challenge: asked.get('code_challenge') ?? '' });
    return new URLSearchParams({
      state: asked.get('state') ?? '',
      session_state: randomUUID(),
      iss: this.issuer,
      code,
    });
  }

  /** A signed token of somebody's; the last key signs. */
  async token(claims: Claims, header: Record<string, unknown> = {}): Promise<string> {
    const [kid = '', pair] = [...this.keys].at(-1) ?? [];
    const now = Math.floor(this.clock.now().getTime() / 1000) + this.ahead;
    const usual: JWTPayload = {
      ...{ iss: this.issuer, aud: 'grantline', azp: 'grantline', sub: 'f0a1', typ: 'ID', jti: randomUUID() },
      ...{ iat: now, auth_time: now, exp: now + 300, sid: 'the-session', preferred_username: 'erin.test' },
    };
    const payload = typeof claims === 'function' ? claims(usual) : { ...usual, ...claims };
    if (pair === undefined) throw new Error('there is no key');
    if (this.forge !== null) return this.forge(payload, { kid, pair });
    return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid, typ: 'JWT', ...header }).sign(pair.privateKey);
  }

  /** What it sends when a session of its own ends, as Keycloak has it; a claim that is undefined is left out. */
  logoutToken(claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}): Promise<string> {
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
    const shape = ({ nonce: _, auth_time: __, iat = 0, ...usual }: JWTPayload): JWTPayload => ({
      ...{ ...usual, iat, typ: 'Logout', events, exp: iat + 120 },
      ...claims,
    });
    return this.token(shape, { typ: 'logout+jwt', ...header });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '', this.issuer).pathname.split('/').at(-1) ?? '';
    this.asked.push(path);
    const instead = this.instead.get(path);
    if (instead === 'hang') return;
    if (instead !== undefined) {
      instead(request, response);
      return;
    }
    const { status, body } = await this.answer(path, request);
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  }

  private async answer(path: string, request: IncomingMessage): Promise<Reply> {
    switch (path) {
      case 'openid-configuration':
        return { status: 200, body: this.metadata() };
      case 'certs': {
        const keys = [...this.keys].map(async ([kid, { publicKey }]) => ({
          ...(await exportJWK(publicKey)),
          ...{ kid, alg: 'RS256', use: 'sig' },
        }));
        return { status: 200, body: { keys: await Promise.all(keys) } };
      }
      case 'token':
        return this.redeem(await formOf(request));
      default:
        return { status: 404, body: { error: 'HTTP 404 Not Found' } };
    }
  }

  /** Its discovery document. */
  metadata(): Record<string, unknown> {
    const protocol = `${this.issuer}/protocol/openid-connect`;
    return {
      issuer: this.issuer,
      authorization_endpoint: `${protocol}/auth`,
      token_endpoint: `${protocol}/token`,
      jwks_uri: `${protocol}/certs`,
      end_session_endpoint: `${protocol}/logout`,
      authorization_response_iss_parameter_supported: true,
      id_token_signing_alg_values_supported: ['RS256', 'ES256', 'HS256'],
      code_challenge_methods_supported: ['plain', 'S256'],
    };
  }

  private async redeem(form: URLSearchParams): Promise<Reply> {
    noteSecret(form.get('client_secret') ?? '');
    const refused = (error: string) => ({ status: 400, body: { error, error_description: 'Code not valid' } });
    if (form.get('client_id') !== 'grantline' || form.get('client_secret') !== this.secret) {
      return { status: 401, body: { error: 'unauthorized_client' } };
    }
    if (form.get('grant_type') === 'refresh_token') return this.refresh(form.get('refresh_token') ?? '', refused);
    const code = form.get('code') ?? '';
    const issued = this.codes.get(code);
    this.codes.delete(code);
    const verifier = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(form.get('code_verifier') ?? ''));
    if (Buffer.from(verifier).toString('base64url') !== issued?.challenge) return refused('invalid_grant');
    const { claims, nonce } = issued;
    return this.tokens(issued, (usual) => {
      const named = { ...usual, nonce };
      return typeof claims === 'function' ? claims(named) : { ...named, ...claims };
    });
  }

  private async refresh(token: string, refused: (error: string) => Reply): Promise<Reply> {
    const issued = this.refreshTokens.get(token);
    if (issued === undefined) return refused('invalid_grant');
    const claim = typeof issued.claims === 'function' ? issued.claims({}) : issued.claims;
    if (this.leavers.has(claim.sub)) return refused('invalid_grant');
    if (this.isRotating) this.refreshTokens.delete(token);
    return this.tokens(issued, { ...claim, ...this.changed });
  }

  private async tokens(issued: Issued, claims: Claims): Promise<Reply> {
    const id_token = await this.token(claims);
    const tokens = { access_token: randomUUID(), refresh_token: randomUUID(), id_token };
    this.refreshTokens.set(tokens.refresh_token, issued);
    for (const token of Object.values(tokens)) noteSecret(token);
    return { status: 200, body: { ...tokens, token_type: 'Bearer', expires_in: 300, scope: 'openid profile email' } };
  }
}

async function formOf(request: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return new URLSearchParams(Buffer.concat(chunks).toString());
}
