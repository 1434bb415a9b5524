import { types } from 'node:util';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply } from 'fastify';
import passport from 'passport';
import { Refused } from '../../kernel/errors.js';
import {
  ADMINISTRATORS_ONLY,
  API_TOKEN,
  type AdmittedUser,
  type AuthenticatedRequest,
  type AuthenticatedUser,
  BEFORE_PASSWORD_CHANGE,
  OPEN_TO_TOKENS,
  PUBLIC,
} from './access.js';
import { hasApiToken } from './bearer-token.js';
import type { TokenScope } from '../../kernel/token-scope.js';

const { isNativeError } = types;

/** The name of the passport strategy for access tokens, which the module `auth` provides. The strategy for API tokens is API_TOKEN. */
export const ACCESS_TOKEN = 'access-token';

/** The name of the strategy for session cookies of browsers. A cookie is ignored if the request has an `Authorization` header. */
export const BROWSER_SESSION = 'browser-session';

/**
 * Denies unauthenticated requests by default: a route requires a valid access token or session cookie unless it is marked @Public(), and
 * accepts API tokens only if it is marked @OpenToTokens().
 */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const metadataOf = (metadataKey: string): unknown =>
      this.reflector.getAllAndOverride<unknown>(metadataKey, [context.getHandler(), context.getClass()]);
    if (metadataOf(PUBLIC) === true) return true;
    const [request, reply] = context.getArgs<[AuthenticatedRequest, FastifyReply]>();
    const user = await authenticateBy(
      hasApiToken(request) ? [API_TOKEN] : [ACCESS_TOKEN, BROWSER_SESSION],
      request,
      reply,
    );
    request.user = user;
    requireScope(user, (metadataOf(OPEN_TO_TOKENS) ?? []) as readonly TokenScope[]);
    if (user.mustChangePassword && metadataOf(BEFORE_PASSWORD_CHANGE) !== true)
      throw new Refused('password_change_required');
    if (metadataOf(ADMINISTRATORS_ONLY) === true && user.role !== 'admin') throw new Refused('administrator_required');
    return true;
  }
}

function requireScope({ credential }: AuthenticatedUser, allowedScopes: readonly TokenScope[]): void {
  if (credential.kind !== 'token' || credential.scopes.some((scope) => allowedScopes.includes(scope))) return;
  const detail =
    allowedScopes.length === 0
      ? 'No API token opens this: sign in.'
      : `The API token needs the scope ${allowedScopes.join(' or ')}.`;
  throw new Refused('insufficient_scope', { detail });
}

/**
 * Calls passport directly: the strategies depend on the request, but AuthGuard of @nestjs/passport has fixed strategies. Rejects with the
 * error of a strategy, or with a refusal if no strategy admits the request.
 */
function authenticateBy(strategies: string[], request: unknown, reply: unknown): Promise<AdmittedUser> {
  return new Promise((resolve, reject) => {
    const onResult = (error: unknown, user: AdmittedUser | false | null | undefined, info: unknown): void => {
      if (isNativeError(error)) reject(error);
      else if (typeof user === 'object' && user !== null) resolve(user);
      else reject(refusalOf(info));
    };
    const authenticate = passport.authenticate(strategies, { session: false }, onResult) as Middleware;
    authenticate(request, reply, reject);
  });
}

/** The refusal for passport's results. "No auth token" is passport-jwt's message if no token was sent. @param info a result of each strategy */
function refusalOf(info: unknown): Refused {
  const firstInfo: unknown = [info].flat()[0];
  const cause = isNativeError(firstInfo) ? firstInfo : new Error('refused');
  if (cause.message === 'No auth token') return new Refused('token_missing', { cause });
  return new Refused('token_invalid', { cause, reason: 'signature' });
}

type Middleware = (request: unknown, reply: unknown, next: (error: unknown) => void) => void;
