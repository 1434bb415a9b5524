import { createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientAddress } from './domain/client-address.js';

/** The person behind a request, as the access token and the database say at this moment. */
export interface CurrentPerson {
  id: number;
  username: string;
  role: 'user' | 'admin';
  sessionId: string;
}

/** Somebody whom the strategy let in. While a one-time password must be changed, only routes that say so are open to them. */
export interface AdmittedPerson extends CurrentPerson {
  mustChangePassword: boolean;
}

/** Where a request comes from: for audit, sessions and throttling. */
export interface Client {
  /** Normalised (clientAddress). */
  address: string;
  userAgent: string | null;
  requestId: string;
}

export const PUBLIC = 'grantline:public';
export const ADMINISTRATORS_ONLY = 'grantline:administrators-only';
export const BEFORE_PASSWORD_CHANGE = 'grantline:before-password-change';

/** Opens a route to everybody. Routes are closed by default. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(PUBLIC, true);

/** Lets only administrators in; others get 403. */
export const AdministratorsOnly = (): MethodDecorator & ClassDecorator => SetMetadata(ADMINISTRATORS_ONLY, true);

/** Leaves a route open to people whose one-time password must be changed first. */
export const BeforePasswordChange = (): MethodDecorator & ClassDecorator => SetMetadata(BEFORE_PASSWORD_CHANGE, true);

export type AuthenticatedRequest = FastifyRequest & { user: AdmittedPerson };

/** The parameter that holds the caller's identity, a CurrentPerson. */
export const CurrentUser = createParamDecorator(
  (_: unknown, context: ExecutionContext): CurrentPerson =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().user,
);

/** The parameter that holds where the request comes from, a Client. */
export const CurrentClient = createParamDecorator((_: unknown, context: ExecutionContext): Client => {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  return {
    address: clientAddress(request.ip),
    userAgent: request.headers['user-agent'] ?? null,
    requestId: request.id,
  };
});

/** The parameter that is aborted when the client goes away before it is answered, an AbortSignal. */
export const UntilClientGone = createParamDecorator((_: unknown, context: ExecutionContext): AbortSignal => {
  const { raw } = context.switchToHttp().getResponse<FastifyReply>();
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  raw.once('close', () => {
    if (!raw.writableFinished) gone.abort();
  });
  return gone.signal;
});
