import { Injectable } from '@nestjs/common';
import { type Counter, Registry } from 'prom-client';
import { counter } from '../../platform/metrics.js';
import type { Renewal } from './domain/identity-provider.js';
import type { ExchangeFailure } from './domain/shown-token.js';
import type { SignInFailure } from './domain/sign-in-failure.js';

/** What came of sign-ins at the identity provider. */
@Injectable()
export class OidcMetrics {
  private readonly signIns: Counter<'outcome'>;
  private readonly disregarded: Counter;
  private readonly rechecks: Counter<'outcome'>;

  constructor(registry: Registry) {
    const help =
      'Sign-ins at the identity provider, by what came of them: signed_in, exchanged, confirmed, linked, or the code of the failure.';
    this.signIns = counter(registry, 'grantline_oidc_sign_ins_total', help, 'outcome');
    const again =
      'Sessions in use that the identity provider was asked for again, by what it said: renewed, ended, silent.';
    this.rechecks = counter(registry, 'grantline_oidc_rechecks_total', again, 'outcome');
    const groups = 'Sign-ins at which the provider said groups that could not be followed, or not which.';
    this.disregarded = counter(registry, 'grantline_oidc_groups_disregarded_total', groups);
  }

  succeeded(outcome: 'signed_in' | 'exchanged' | 'confirmed' | 'linked'): void {
    this.signIns.inc({ outcome });
  }

  rechecked(outcome: Renewal['kind']): void {
    this.rechecks.inc({ outcome });
  }

  disregardedGroups(): void {
    this.disregarded.inc();
  }

  failed(code: SignInFailure | ExchangeFailure): void {
    this.signIns.inc({ outcome: code });
  }
}
