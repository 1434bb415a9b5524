import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { AccessWritesService } from '../../grants/access-writes.service.js';
import { Timers } from '../../kernel/clock.js';
import { Log } from '../../platform/log/log.js';
import { ScimGroupStore, ScimUserStore } from './scim.store.js';

const REPORT_INTERVAL_MS = 15_000;

/** Runs writes of SCIM and logs their progress: a first synchronisation takes minutes. */
@Injectable()
export class ScimWritesService implements BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private changes = 0;
  private reporting: Promise<void> | null = null;

  constructor(
    private readonly writes: AccessWritesService,
    private readonly users: ScimUserStore,
    private readonly groups: ScimGroupStore,
    private readonly timers: Timers,
    private readonly log: Log,
  ) {}

  /** As AccessWritesService does. @throws Refused `busy` */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const done = await this.writes.run(work);
    this.changes += 1;
    this.reporting ??= this.report().finally(() => (this.reporting = null));
    return done;
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.reporting;
  }

  private async report(): Promise<void> {
    try {
      await this.timers.wait(REPORT_INTERVAL_MS, this.stopping.signal);
      const { changes } = this;
      this.changes = 0;
      const none = { filter: null, offset: 0, count: 0 };
      const users = await this.users.list(none);
      const groups = await this.groups.list(none, false);
      this.log.info('SCIM changes', { changes, users: users.total, groups: groups.total });
    } catch {
      // The service stops, or the database is unavailable, which the requests log themselves.
    }
  }
}
