import { Injectable } from '@nestjs/common';
import { type Counter, Registry } from 'prom-client';
import { counter } from '../platform/metrics.js';

/** What alerts see of signing in with a password. */
@Injectable()
export class SignInMetrics {
  private readonly breakGlass: Counter;

  constructor(registry: Registry) {
    const help = 'Sign-ins of administrators with a password while AUTH_PASSWORD_SIGN_IN_ENABLED is false.';
    this.breakGlass = counter(registry, 'grantline_break_glass_sign_ins_total', help);
  }

  brokeGlass(): void {
    this.breakGlass.inc();
  }
}
