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

/** The name of `auth`'s passport strategy for access tokens; API tokens have API_TOKEN. */
export const ACCESS_TOKEN = 'access-token';

/** The name of the strategy for a browser's session cookie, which counts only without an `Authorization` header. */
export const BROWSER_SESSION = 'browser-session';

/**
 * Closes routes by default: every route requires a valid access token or cookie, unless it is marked @Public(), and accepts API tokens
 * only if it is marked @OpenToTokens().
 */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const markOf = (mark: string): unknown =>
      this.reflector.getAllAndOverride<unknown>(mark, [context.getHandler(), context.getClass()]);
    if (markOf(PUBLIC) === true) return true;
    const [request, reply] = context.getArgs<[AuthenticatedRequest, FastifyReply]>();
    const user = await authenticated(
      hasApiToken(request) ? [API_TOKEN] : [ACCESS_TOKEN, BROWSER_SESSION],
      request,
      reply,
    );
    request.user = user;
    requireScope(user, (markOf(OPEN_TO_TOKENS) ?? []) as readonly TokenScope[]);
    if (user.mustChangePassword && markOf(BEFORE_PASSWORD_CHANGE) !== true)
      throw new Refused('password_change_required');
    if (markOf(ADMINISTRATORS_ONLY) === true && user.role !== 'admin') throw new Refused('administrator_required');
    return true;
  }
}

function requireScope({ credential }: AuthenticatedUser, opening: readonly TokenScope[]): void {
  if (credential.kind !== 'token' || credential.scopes.some((scope) => opening.includes(scope))) return;
  const detail =
    opening.length === 0
      ? 'No API token opens this: sign in.'
      : `The API token needs the scope ${opening.join(' or ')}.`;
  throw new Refused('insufficient_scope', { detail });
}

/**
 * Authenticates by passport directly, because the strategies depend on the request and those of @nestjs/passport's AuthGuard are fixed.
 * Passes on the strategies' errors. passport-jwt's message is "No auth token" if none was sent.
 */
function authenticated(strategies: string[], request: unknown, reply: unknown): Promise<AdmittedUser> {
  return new Promise((resolve, reject) => {
    const decide = (error: unknown, user: AdmittedUser | false | null | undefined, info: unknown): void => {
      if (isNativeError(error)) reject(error);
      else if (typeof user === 'object' && user !== null) resolve(user);
      else reject(refusal(info));
    };
    const authenticate = passport.authenticate(strategies, { session: false }, decide) as Middleware;
    authenticate(request, reply, reject);
  });
}

/** @param info one result for each strategy, in their order */
function refusal(info: unknown): Refused {
  const first: unknown = [info].flat()[0];
  const cause = isNativeError(first) ? first : new Error('refused');
  if (cause.message === 'No auth token') return new Refused('token_missing', { cause });
  return new Refused('token_invalid', { cause, reason: 'signature' });
}

type Middleware = (request: unknown, reply: unknown, next: (error: unknown) => void) => void;
