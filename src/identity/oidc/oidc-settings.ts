import { Injectable } from '@nestjs/common';
import { Refused } from '../../kernel/errors.js';
import { Settings } from '../../platform/settings/settings.js';

/** The settings of the provider, if there is one. */
@Injectable()
export class OidcSettings {
  constructor(private readonly settings: Settings) {}

  get isOn(): boolean {
    return this.settings.oidc !== null;
  }

  /** @throws Refused `not_found` without a provider */
  demand(): void {
    if (!this.isOn) throw new Refused('not_found');
  }

  /** @throws Refused `not_found` without a provider */
  get given(): NonNullable<Settings['oidc']> {
    if (this.settings.oidc === null) throw new Refused('not_found');
    return this.settings.oidc;
  }
}
