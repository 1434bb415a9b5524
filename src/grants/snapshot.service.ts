import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import { Settings } from '../platform/settings/settings.js';
import type { Principal } from '../trino-rules/model/principal.js';
import type { Node } from '../trino-rules/model/node.js';
import type { GrantOnPath } from '../trino-rules/answers/ways.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import type { Growth } from './domain/admission-ports.js';
import { snapshotSettings } from './domain/snapshot-settings.js';
import { SnapshotStore, type Touched } from './domain/snapshot-store.js';

/** Reads the input of the rules: the snapshot with its settings. */
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

  /** For the rows that a transaction touches; null: these are more than `maxRows` rows. */
  async readTouched(touched: Touched, maxRows: number): Promise<Snapshot | null> {
    const at = this.clock.now();
    const written = await this.store.readTouched(at, touched, maxRows);
    return written && { ...written, settings: snapshotSettings(this.settings), at };
  }

  /** The part that answers questions about one principal, at one node or, with null, anywhere. */
  async readFor(principal: Principal, node: Node | null): Promise<Snapshot> {
    const at = this.clock.now();
    return { ...(await this.store.readFor(at, principal, node)), settings: snapshotSettings(this.settings), at };
  }

  grantsOnPath(principal: Principal, node: Node): Promise<GrantOnPath[]> {
    return this.store.grantsOnPath(principal, node);
  }

  growth(since: Date): Promise<Growth> {
    return this.store.growth(since);
  }
}
