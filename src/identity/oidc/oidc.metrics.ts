import { Injectable } from '@nestjs/common';
import { type Counter, Registry } from 'prom-client';
import { counter } from '../../platform/operations/metrics.js';

@Injectable()
export class OidcMetrics {
  readonly signIns: Counter<'outcome'>;
  readonly rechecks: Counter<'outcome'>;
  readonly disregardedGroups: Counter;

  constructor(registry: Registry) {
    const help =
      'Sign-ins at the identity provider by `outcome`: `signed_in`, `exchanged`, `confirmed`, `linked`, or the code of the failure.';
    this.signIns = counter(registry, 'grantline_oidc_sign_ins_total', help, 'outcome');
    const recheckHelp =
      'Sessions in use about which the identity provider was asked again, by `outcome`: `renewed`, `ended`, `silent`.';
    this.rechecks = counter(registry, 'grantline_oidc_rechecks_total', recheckHelp, 'outcome');
    const groupsHelp = 'Sign-ins at which the provider named groups that could not be followed, or did not say which.';
    this.disregardedGroups = counter(registry, 'grantline_oidc_groups_disregarded_total', groupsHelp);
  }
}
