import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { Settings } from '../platform/settings.js';
import type { Snapshot, SnapshotSettings } from '../trino-rules/model/snapshot.js';
import type { Growth } from './domain/size-forecast.js';
import { SnapshotStore, type Touched } from './domain/snapshot-store.js';

/** Everything that the rules follow from, at this moment. */
@Injectable()
export class SnapshotService {
  constructor(
    private readonly store: SnapshotStore,
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  async read(): Promise<Snapshot> {
    const at = this.clock.now();
    return { ...(await this.store.read(at)), settings: snapshotSettings(this.settings), at };
  }

  /** Of what a transaction touches; null: that is more than `mostRows` grants. */
  async readTouched(touched: Touched, mostRows: number): Promise<Snapshot | null> {
    const at = this.clock.now();
    const written = await this.store.readTouched(at, touched, mostRows);
    return written && { ...written, settings: snapshotSettings(this.settings), at };
  }

  growth(since: Date): Promise<Growth> {
    return this.store.growth(since);
  }
}

/** The settings that shape the rules. */
export function snapshotSettings({ acl, engine }: Pick<Settings, 'acl' | 'engine'>): SnapshotSettings {
  return {
    ownAccount: engine.user,
    serviceAccounts: acl.serviceAccounts,
    writableCatalogs: acl.writableCatalogs,
    readableCatalogs: acl.readableCatalogs,
    metadataCatalog: acl.metadataCatalog,
    impersonation: engine.impersonation,
    sessionProperties: acl.sessionProperties,
  };
}
