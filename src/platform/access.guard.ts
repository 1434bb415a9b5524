import { types } from 'node:util';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { Refused } from '../kernel/errors.js';
import {
  ADMINISTRATORS_ONLY,
  API_TOKEN,
  type AuthenticatedRequest,
  type AuthenticatedUser,
  BEFORE_PASSWORD_CHANGE,
  OPEN_TO_TOKENS,
  PUBLIC,
} from './access.js';
import { hasApiToken } from './bearer-token.js';
import type { TokenScope } from './domain/token-scope.js';

const { isNativeError } = types;

/** The name under which `auth` registers its passport strategy; that of API tokens is API_TOKEN. */
export const ACCESS_TOKEN = 'access-token';

/** The same of the cookie of a browser's session, which counts only without an `Authorization` header. */
export const BROWSER_SESSION = 'browser-session';

/**
 * Closed by default: every route requires a valid access token or cookie, unless it is marked @Public(), and takes API tokens only where
 * it is marked @OpenToTokens().
 */
@Injectable()
export class AccessGuard implements CanActivate {
  private readonly strategies = {
    session: strategyGuard(ACCESS_TOKEN, BROWSER_SESSION),
    token: strategyGuard(API_TOKEN),
  };

  constructor(private readonly reflector: Reflector) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const markOf = (mark: string): unknown =>
      this.reflector.getAllAndOverride<unknown>(mark, [context.getHandler(), context.getClass()]);
    const isMarked = (mark: string): boolean => markOf(mark) === true;
    if (isMarked(PUBLIC)) return true;
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
    await this.strategies[hasApiToken(request) ? 'token' : 'session'].canActivate(context);
    const { user } = request;
    requireScope(user, (markOf(OPEN_TO_TOKENS) ?? []) as readonly TokenScope[]);
    if (user.mustChangePassword && !isMarked(BEFORE_PASSWORD_CHANGE)) throw new Refused('password_change_required');
    if (isMarked(ADMINISTRATORS_ONLY) && user.role !== 'admin') throw new Refused('administrator_required');
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

/** Passes on the strategy's errors. passport-jwt's message is "No auth token" where none was sent. */
function strategyGuard(...strategies: string[]): CanActivate {
  class StrategyGuard extends AuthGuard(strategies) {
    override handleRequest<T>(error: unknown, user: T | false | null | undefined, info: unknown): T {
      if (isNativeError(error)) throw error;
      if (typeof user === 'object' && user !== null) return user;
      // One of each strategy, the first of them first.
      const first: unknown = [info].flat()[0];
      const cause = isNativeError(first) ? first : new Error('refused');
      if (cause.message === 'No auth token') throw new Refused('token_missing', { cause });
      throw new Refused('token_invalid', { cause, reason: 'signature' });
    }
  }
  return new StrategyGuard();
}
