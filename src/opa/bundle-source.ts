import { timingSafeEqual } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AclSyncService } from '../acl-sync/acl-sync.service.js';
import type { PublishedBundle } from '../acl-sync/domain/preparation-tasks.js';
import { PublicationHistory } from '../acl-sync/domain/publication-history.js';
import { RulesPreparer } from '../acl-sync/domain/run-ports.js';
import { proofOf, revisionOf } from '../acl-sync/domain/target-state.js';
import { secretDigest } from '../kernel/secret.js';
import { Settings } from '../platform/settings/settings.js';

/** A version in an entity tag that `publishedBundle` made. Nine digits at most, so that there is always room above. */
const VERSION_IN_TAG = /"(v(\d{1,9})-([0-9a-f]{12}))-[^".]+(?:\.([\w-]+))?"/g;

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

  /** The newest published version; null: there is none, or a newer one is in force that the database lacks. Must be fast, because it is read several times a second. */
  async newest(): Promise<BundleVersion | null> {
    const newest = await this.history.newestAccess();
    return newest && { version: newest.version, revision: revisionOf(newest) };
  }

  /** Records a version that an instance of OPA has and the database lacks. A file or ConfigMap that names it, too, gives its text to a later run. */
  async recordFound(tags: string): Promise<void> {
    for (const { version, hash } of this.provedVersions(tags)) await this.sync.recordFound({ version, hash, text: '' });
  }

  /** Whether a version in these tags is of another database, although this one has a version of the same or a higher number. */
  async isContradicted(tags: string): Promise<boolean> {
    const found = this.provedVersions(tags).map(({ version, hash: snapshotHash }) =>
      this.history.isContradicted({ version, snapshotHash }),
    );
    return (await Promise.all(found)).includes(true);
  }

  /** The versions in entity tags. A tag counts only with the proof that this installation made it. */
  private provedVersions(tags: string): { version: number; hash: string }[] {
    return [...tags.matchAll(VERSION_IN_TAG)].flatMap(([, revision = '', version, hash = '', proof = '']) =>
      this.isProved(revision, proof) ? [{ version: Number(version), hash }] : [],
    );
  }

  private isProved(revision: string, proof: string): boolean {
    const { signingKey } = this;
    return signingKey === null || timingSafeEqual(secretDigest(proof), secretDigest(proofOf(revision, signingKey)));
  }

  async makeBundle({ version, revision }: BundleVersion): Promise<PublishedBundle> {
    const snapshot = (await this.history.accessSnapshot(version)) ?? '';
    if (snapshot === '') throw new Error(`the access of publication ${version} is not known`);
    return this.preparer.run('bundle', snapshot, revision, this.signingKey);
  }

  private get signingKey(): string | null {
    return this.settings.acl.opa?.signingKey?.reveal() ?? null;
  }
}
