import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import { ApiBearerAuth, ApiSecurity } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress } from './client-address.js';
import type { TokenScope } from '../../kernel/token-scope.js';

/**
 * The credential of a request: a session's access token or cookie, or an API token. `provedAt`: the time of the person's last
 * authentication; null where it is not known.
 */
export type Credential =
  | { kind: 'session'; id: string; provedAt: Date | null }
  | { kind: 'token'; id: string; name: string; scopes: readonly TokenScope[] };

/** The authenticated user of a request, from the credential and the database at the time of the request. */
export interface AuthenticatedUser {
  id: number;
  username: string;
  role: 'user' | 'admin';
  credential: Credential;
  /** Whether the credential would still be admitted. Long answers check it again. */
  isStillAdmitted: () => Promise<boolean>;
}

/** The user that a strategy admits. Until a one-time password is changed, only routes with @BeforePasswordChange() are open. */
export interface AdmittedUser extends AuthenticatedUser {
  mustChangePassword: boolean;
}

/** The origin of a request, for audit, sessions and throttling. */
export interface Client {
  /** The address, normalised by clientAddress. */
  address: string;
  userAgent: string | null;
  requestId: string;
  /** Aborted when the client disconnects before it is answered. */
  gone: AbortSignal;
}

export const PUBLIC = 'grantline:public';
export const ADMINISTRATORS_ONLY = 'grantline:administrators-only';
export const BEFORE_PASSWORD_CHANGE = 'grantline:before-password-change';
export const OPEN_TO_TOKENS = 'grantline:open-to-tokens';

/** Opens a route to unauthenticated requests. Routes are closed by default. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(PUBLIC, true);

/** Restricts a route to administrators; others get 403. */
export const AdministratorsOnly = (): MethodDecorator & ClassDecorator =>
  applyDecorators(SetMetadata(ADMINISTRATORS_ONLY, true), ApiBearerAuth('access-token'));

/** Opens a route to users who must change their one-time password first. */
export const BeforePasswordChange = (): MethodDecorator & ClassDecorator => SetMetadata(BEFORE_PASSWORD_CHANGE, true);

/** The name of API tokens in the OpenAPI document. */
export const API_TOKEN = 'api-token';

/** Opens a route to API tokens that have one of these scopes. Routes are closed to API tokens by default. */
export const OpenToTokens = (...scopes: TokenScope[]): MethodDecorator =>
  applyDecorators(SetMetadata(OPEN_TO_TOKENS, scopes), ApiSecurity(API_TOKEN, scopes));

export type AuthenticatedRequest = FastifyRequest & { user: AdmittedUser };

/** The parameter that holds the authenticated user. */
export const CurrentUser = createParamDecorator((_: unknown, context: ExecutionContext) => userOf(context));

/** The parameter that holds the origin of the request, a Client. */
export const CurrentClient = createParamDecorator((_: unknown, context: ExecutionContext) => clientOf(context));

/** The parameter that holds actor and origin for the request's audit events, an AuditContext. */
export const CurrentAuditContext = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const { id, username, credential } = userOf(context);
  const { address, requestId } = clientOf(context);
  const token = credential.kind === 'token' ? { id: credential.id, name: credential.name } : null;
  return { actor: { id, username, token }, origin: { address, requestId } };
});

/** The id of the request's session. @throws Error for an API token, which no route that needs a session accepts */
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
  if (raw.destroyed) gone.abort();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return { address: clientAddress(ip), userAgent: headers['user-agent'] ?? null, requestId: id, gone: gone.signal };
}
