import { Injectable } from '@nestjs/common';
import { type Counter, Registry } from 'prom-client';
import { counter } from '../../platform/metrics.js';
import type { SignInFailure } from './domain/sign-in-failure.js';

/** What came of sign-ins at the identity provider. */
@Injectable()
export class OidcMetrics {
  private readonly signIns: Counter<'outcome'>;

  constructor(registry: Registry) {
    const help = 'Sign-ins at the identity provider, by what came of them: signed_in, or the code of the failure.';
    this.signIns = counter(registry, 'grantline_oidc_sign_ins_total', help, 'outcome');
  }

  signedIn(): void {
    this.signIns.inc({ outcome: 'signed_in' });
  }

  failed(code: SignInFailure): void {
    this.signIns.inc({ outcome: code });
  }
}
