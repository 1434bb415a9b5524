import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiSecurity } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refused } from '../../kernel/errors.js';
import { clientAddress } from './client-address.js';
import type { TokenScope } from '../../kernel/token-scope.js';

/**
 * The credential of a request: a session's access token or cookie, or an API token. `provedAt`: when the person last
 * authenticated; null: the session never needs a recent authentication.
 */
export type Credential =
  | { kind: 'session'; id: string; provedAt: Date | null }
  | { kind: 'token'; id: string; name: string; scopes: readonly TokenScope[] };

/** The authenticated user of a request, read from the credential and the database when the request arrived. */
export interface AuthenticatedUser {
  id: number;
  username: string;
  role: 'user' | 'admin';
  credential: Credential;
  /** Checks whether the credential is still valid, for example while a long answer is sent. */
  isStillAdmitted: () => Promise<boolean>;
}

/** The user that a strategy admits. With `mustChangePassword` the user can only use routes with @BeforePasswordChange(). */
export interface AdmittedUser extends AuthenticatedUser {
  mustChangePassword: boolean;
}

/** The origin of a request, for audit, sessions and throttling. */
export interface Client {
  /** The address, normalised by clientAddress. */
  address: string;
  userAgent: string | null;
  requestId: string;
  /** Aborted when the client disconnects before the request is answered. */
  signal: AbortSignal;
}

export const PUBLIC = 'grantline:public';
export const ADMINISTRATORS_ONLY = 'grantline:administrators-only';
export const BEFORE_PASSWORD_CHANGE = 'grantline:before-password-change';
export const OPEN_TO_TOKENS = 'grantline:open-to-tokens';

/** Admits unauthenticated requests to a route. Other routes refuse them. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(PUBLIC, true);

/** Restricts a route to administrators. Other users get 403. */
export const AdministratorsOnly = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(ADMINISTRATORS_ONLY, true), ApiBearerAuth('access-token'));

/** Admits users who have not changed their one-time password yet. Other routes refuse them. */
export const BeforePasswordChange = (): MethodDecorator & ClassDecorator => SetMetadata(BEFORE_PASSWORD_CHANGE, true);

/** The name of API tokens in the OpenAPI document, and of their passport strategy. */
export const API_TOKEN = 'api-token';

/** Admits API tokens with one of these scopes to a route. Other routes refuse API tokens. */
export const OpenToTokens = (...scopes: TokenScope[]): MethodDecorator =>
  applyDecorators(SetMetadata(OPEN_TO_TOKENS, scopes), ApiSecurity(API_TOKEN, scopes));

export type AuthenticatedRequest = FastifyRequest & { user: AdmittedUser };

export const CurrentUser = createParamDecorator((_: unknown, context: ExecutionContext) => userOf(context));

export const CurrentClient = createParamDecorator((_: unknown, context: ExecutionContext) => clientOf(context));

/** A route's parameter with the actor and origin for the request's audit events (AuditContext). */
export const CurrentAuditContext = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const { id, username, credential } = userOf(context);
  const { address, requestId } = clientOf(context);
  const token = credential.kind === 'token' ? { id: credential.id, name: credential.name } : null;
  return { actor: { id, username, token }, origin: { address, requestId } };
});

/** The id of the request's session. @throws Error for an API token, because routes that call this must not accept API tokens */
export function sessionIdOf({ credential }: AuthenticatedUser): string {
  if (credential.kind !== 'session') throw new Error('a route that needs a session is open to API tokens');
  return credential.id;
}

function userOf(context: ExecutionContext): AuthenticatedUser {
  return context.switchToHttp().getRequest<AuthenticatedRequest>().user;
}

function clientOf(context: ExecutionContext): Client {
  const { ip, headers, id } = context.switchToHttp().getRequest<FastifyRequest>();
  const { raw } = context.switchToHttp().getResponse<FastifyReply>();
  const gone = new AbortController();
  const abort = (): void => gone.abort(new Refused('busy', { detail: 'The client went away.' })); // `busy` is not logged
  if (raw.destroyed) abort();
  raw.once('close', () => {
    if (!raw.writableFinished) abort();
  });
  return { address: clientAddress(ip), userAgent: headers['user-agent'] ?? null, requestId: id, signal: gone.signal };
}
