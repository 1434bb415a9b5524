import { Injectable, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import type { PublishedBundle } from '../acl-sync/domain/preparation-tasks.js';
import type { Probe } from '../acl-sync/heartbeat.service.js';
import { Timers } from '../kernel/clock.js';
import { matchesEntityTag } from '../kernel/entity-tag.js';
import { NamedError, Refused } from '../kernel/errors.js';
import { singleFlight } from '../kernel/promises.js';
import { BundleSource, type BundleVersion } from './bundle-source.js';

/** Milliseconds between two checks for a newer version. The pause after a failure is longer, because making a bundle may take minutes. */
const INTERVAL_MS = { well: 400, failed: 10_000 };

/** Limits of concurrent requests that wait for a version, and of immediate answers with a bundle. */
const HELD_REQUEST_QUOTA = { name: 'held-requests', limit: 256 };
const FULL_ANSWER_QUOTA = { name: 'bundles', limit: 50, windowSeconds: 1 };

/** While this process makes its first bundle, requests wait for it at least this long, even if the client asks for less. */
const FIRST_WAIT_SECONDS = 10;

/** The reason for aborting a wait. Without a reason, `abort()` would create an error with a stack for each wait. */
const RELEASE_REASON = new NamedError('the request waits no longer');

/** The newest bundle. `archive` is null if the client has this bundle already. */
export interface BundleAnswer extends Pick<PublishedBundle, 'tag'> {
  archive: Uint8Array | null;
}

/** Keeps the bundle of the newest version in memory, and lets requests wait for the next one. */
@Injectable()
export class BundlesService implements Probe, OnModuleInit, OnModuleDestroy {
  readonly failureMessage = 'bundle for OPA could not be renewed';
  private newestBundle: { version: BundleVersion; bundle: PublishedBundle } | null = null;
  /** The tag of the bundle before the newest one, if both are of this database; otherwise empty. */
  private formerTag = '';
  private health: 'starting' | 'well' | 'failed' = 'starting';
  private isStopping = false;
  private readonly heldRequests = new Set<AbortController>();
  private fullAnswersThisSecond = { second: 0, answers: 0, addresses: new Set<string>() };
  /** Makes the bundle of a newer version, and answers the requests that wait for it. */
  readonly probe = singleFlight(() => this.renew());

  constructor(
    private readonly source: BundleSource,
    private readonly timers: Timers,
  ) {}

  /** Size of the newest bundle; 0: there is none. */
  get bytes(): number {
    return this.newestBundle?.bundle.archive.byteLength ?? 0;
  }

  intervalMs(): number {
    return this.health === 'failed' ? INTERVAL_MS.failed : INTERVAL_MS.well;
  }

  onModuleInit(): void {
    this.source.watch(() => {
      if (!this.isStopping) void this.probe().catch(() => undefined); // the heartbeat repeats it, and logs a failure
    });
  }

  private async renew(): Promise<void> {
    try {
      const version = await this.source.newest();
      if (version?.revision !== this.newestBundle?.version.revision) {
        const tag = this.newestBundle?.bundle.tag ?? '';
        this.formerTag = (await this.source.isContradicted(tag)) ? '' : tag;
        this.newestBundle = version && { version, bundle: await this.source.makeBundle(version) };
        this.releaseRequests();
      }
      this.health = 'well';
    } catch (error) {
      this.health = 'failed';
      throw error;
    }
  }

  onModuleDestroy(): void {
    this.isStopping = true;
    this.releaseRequests();
  }

  /**
   * Answers with the newest bundle. If none exists, or if the client has the newest one, waits up to `seconds` for the next bundle.
   * @param knownTag the header `If-None-Match` @param waitAbort ends the wait when aborted @param address of the client
   * @throws Refused `no_publication`; `too_many_requests`; `busy`, for example while the service stops
   */
  async answer(knownTag = '', seconds: number, waitAbort: AbortController, address: string): Promise<BundleAnswer> {
    // The client has a newer bundle, from another replica. The first check may have begun before that bundle was published.
    for (let checks = 0; checks < 2 && this.isBehind(knownTag); checks += 1)
      await this.probe().catch((cause: unknown) => {
        throw new Refused('busy', { retryAfter: 1, cause });
      });
    if (this.isDoubtful(knownTag)) await this.keepLater(knownTag);
    const currentAnswer = this.answerNow(knownTag);
    if (currentAnswer?.archive) {
      this.countFullAnswer(address);
      return currentAnswer;
    }
    await this.holdRequest(this.health === 'starting' ? Math.max(seconds, FIRST_WAIT_SECONDS) : seconds, waitAbort);
    if (this.isDoubtful(knownTag)) await this.keepLater(knownTag);
    const laterAnswer = this.answerNow(knownTag);
    if (laterAnswer === null) throw new Refused('no_publication', { retryAfter: 1 });
    return laterAnswer;
  }

  /** Leaves the client with a bundle that this database lacks. Access that later versions revoked must not come back with an older database. */
  private async keepLater(knownTag: string): Promise<void> {
    if (!this.isBehind(knownTag) && !(await this.source.isContradicted(knownTag))) return;
    await this.source.recordFound(knownTag);
    await this.probe();
    throw new Refused('busy', { retryAfter: 1 });
  }

  private isDoubtful(knownTag: string): boolean {
    const isKnown = knownTag === '' || knownTag === this.formerTag || this.answerNow(knownTag)?.archive === null;
    return this.isBehind(knownTag) || (!isKnown && this.newestBundle !== null);
  }

  /** Whether the client has a later bundle: from another replica, or from before the database was restored to an earlier version. */
  private isBehind(knownTag: string): boolean {
    const knownVersions = [...knownTag.matchAll(/"v(\d+)-/g)].map(([, version]) => Number(version));
    const ownVersion = this.newestBundle?.version.version ?? Infinity;
    return knownVersions.some((version) => version > ownVersion);
  }

  private answerNow(knownTag: string): BundleAnswer | null {
    const bundle = this.newestBundle?.bundle ?? null;
    return bundle && matchesEntityTag(knownTag, bundle.tag) ? { tag: bundle.tag, archive: null } : bundle;
  }

  /** Counts an answer. Beyond the limit, each address still gets its first answer of the second, so that no client shuts out others. */
  private countFullAnswer(address: string): void {
    const currentSecond = Math.floor(this.timers.now() / 1000);
    if (currentSecond !== this.fullAnswersThisSecond.second)
      this.fullAnswersThisSecond = { second: currentSecond, answers: 0, addresses: new Set() };
    const { answers, addresses } = this.fullAnswersThisSecond;
    if (answers >= FULL_ANSWER_QUOTA.limit && addresses.has(address))
      throw new Refused('too_many_requests', { quota: FULL_ANSWER_QUOTA, retryAfter: 1 });
    this.fullAnswersThisSecond.answers += 1;
    addresses.add(address);
  }

  private async holdRequest(seconds: number, waitAbort: AbortController): Promise<void> {
    if (seconds === 0) return;
    if (this.isStopping) throw new Refused('busy', { retryAfter: 1 });
    if (this.heldRequests.size >= HELD_REQUEST_QUOTA.limit)
      throw new Refused('too_many_requests', { quota: HELD_REQUEST_QUOTA, retryAfter: 1 });
    this.heldRequests.add(waitAbort);
    await this.timers.wait(seconds * 1000, waitAbort.signal).catch(() => undefined);
    this.heldRequests.delete(waitAbort);
  }

  private releaseRequests(): void {
    for (const waitAbort of this.heldRequests) waitAbort.abort(RELEASE_REASON);
  }
}
