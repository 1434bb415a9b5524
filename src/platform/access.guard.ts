import { types } from 'node:util';
import { type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { AuthGuard } from '@nestjs/passport';
import { Refused } from '../kernel/errors.js';
import { ADMINISTRATORS_ONLY, type AuthenticatedRequest, BEFORE_PASSWORD_CHANGE, PUBLIC } from './access.js';

const { isNativeError } = types;

/** The name under which `auth` registers its passport strategy. */
export const ACCESS_TOKEN = 'access-token';

/** Closed by default: every route requires a valid access token, unless it is marked @Public(). */
@Injectable()
export class AccessGuard extends AuthGuard(ACCESS_TOKEN) {
  constructor(private readonly reflector: Reflector) {
    super();
  }

  override async canActivate(context: ExecutionContext): Promise<boolean> {
    const isMarked = (mark: string): boolean =>
      this.reflector.getAllAndOverride<boolean | undefined>(mark, [context.getHandler(), context.getClass()]) === true;
    if (isMarked(PUBLIC)) return true;
    await super.canActivate(context);
    const { user } = context.switchToHttp().getRequest<AuthenticatedRequest>();
    if (user.mustChangePassword && !isMarked(BEFORE_PASSWORD_CHANGE)) throw new Refused('password_change_required');
    if (isMarked(ADMINISTRATORS_ONLY) && user.role !== 'admin') throw new Refused('administrator_required');
    return true;
  }

  /** Passes on the strategy's errors. passport-jwt's message is "No auth token" where none was sent. */
  override handleRequest<T>(error: unknown, user: T | false | null | undefined, info: unknown): T {
    if (isNativeError(error)) throw error;
    if (typeof user === 'object' && user !== null) return user;
    const cause = isNativeError(info) ? info : new Error('refused');
    if (cause.message === 'No auth token') throw new Refused('token_missing', { cause });
    throw new Refused('token_invalid', { cause, reason: 'signature' });
  }
}
