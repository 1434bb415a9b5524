import { Injectable } from '@nestjs/common';
import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import type { PublishedBundle } from '../acl-sync/domain/preparation-tasks.js';
import { PublicationHistory } from '../acl-sync/domain/publication-history.js';
import { RulesPreparer } from '../acl-sync/domain/run-ports.js';
import { revisionOf } from '../acl-sync/domain/target-state.js';
import { Settings } from '../platform/settings/settings.js';

/** A published version from which a bundle for OPA is made. */
export interface BundleVersion {
  version: number;
  /** The revision that OPA reports as active, such as `v77-0123456789ab`. */
  revision: string;
}

/** Finds published versions, and makes bundles of them, outside the event loop. */
@Injectable()
export class BundleSource {
  constructor(
    private readonly sync: AclSyncService,
    private readonly history: PublicationHistory,
    private readonly preparer: RulesPreparer,
    private readonly settings: Settings,
  ) {}

  /** Watches for publications by this process, not by others. @param onChange called when this process may have published */
  watch(onChange: () => void): void {
    this.sync.onRunEnded = onChange;
  }

  /** The newest published version; null: there is none. Must be fast, because it is read several times a second. */
  async newest(): Promise<BundleVersion | null> {
    const newest = await this.history.newestAccess();
    return newest && { version: newest.version, revision: revisionOf(newest) };
  }

  async makeBundle({ version, revision }: BundleVersion): Promise<PublishedBundle> {
    const snapshot = (await this.history.accessSnapshot(version)) ?? '';
    if (snapshot === '') throw new Error(`the access of publication ${version} is not known`);
    const key = this.settings.acl.opa?.signingKey?.reveal() ?? null;
    return this.preparer.run('bundle', snapshot, revision, key);
  }
}
