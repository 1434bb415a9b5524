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
import { HandlerMarks } from './handler-marks.js';

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
  private readonly marks: HandlerMarks<AccessMarks>;

  constructor(reflector: Reflector) {
    this.marks = new HandlerMarks((...targets) => {
      const markOf = (mark: string): unknown => reflector.getAllAndOverride<unknown>(mark, targets);
      return {
        isPublic: markOf(PUBLIC) === true,
        isOpenBeforePasswordChange: markOf(BEFORE_PASSWORD_CHANGE) === true,
        isForAdministrators: markOf(ADMINISTRATORS_ONLY) === true,
        scopes: (markOf(OPEN_TO_TOKENS) ?? []) as readonly TokenScope[],
      };
    });
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const marks = this.marks.of(context);
    if (marks.isPublic) return true;
    const [request, reply] = context.getArgs<[AuthenticatedRequest, FastifyReply]>();
    const user = await authenticated(
      hasApiToken(request) ? [API_TOKEN] : [ACCESS_TOKEN, BROWSER_SESSION],
      request,
      reply,
    );
    request.user = user;
    requireScope(user, marks.scopes);
    if (user.mustChangePassword && !marks.isOpenBeforePasswordChange) throw new Refused('password_change_required');
    if (marks.isForAdministrators && user.role !== 'admin') throw new Refused('administrator_required');
    return true;
  }
}

/** Of a route, by its decorators. */
interface AccessMarks {
  isPublic: boolean;
  isOpenBeforePasswordChange: boolean;
  isForAdministrators: boolean;
  /** Of API tokens that it takes. */
  scopes: readonly TokenScope[];
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
 * By passport itself: Nest's guard for it copies its options and waits several times at each request. Passes on the strategy's
 * errors. passport-jwt's message is "No auth token" where none was sent.
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

/** @param info one of each strategy, the first of them first */
function refusal(info: unknown): Refused {
  const first: unknown = [info].flat()[0];
  const cause = isNativeError(first) ? first : new Error('refused');
  if (cause.message === 'No auth token') return new Refused('token_missing', { cause });
  return new Refused('token_invalid', { cause, reason: 'signature' });
}

type Middleware = (request: unknown, reply: unknown, next: (error: unknown) => void) => void;
