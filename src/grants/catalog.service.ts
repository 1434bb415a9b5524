import { Injectable } from '@nestjs/common';
import { Clock } from '../kernel/clock.js';
import type { AuthenticatedUser } from '../platform/http/access.js';
import {
  type Children,
  type ChildrenRequest,
  EngineCatalog,
  type FoundTables,
  foundTables,
  namedChildren,
  pageOfChildren,
  type TablesRequest,
} from './domain/catalog.js';
import { SnapshotStore } from './domain/snapshot-store.js';
import { NamedNodes } from './grant.store.js';

/** The tree of the data: what is granted on it, and what the engine holds. */
@Injectable()
export class CatalogService {
  constructor(
    private readonly named: NamedNodes,
    private readonly engine: EngineCatalog,
    private readonly snapshots: SnapshotStore,
    private readonly clock: Clock,
  ) {}

  async children(request: ChildrenRequest, signal: AbortSignal): Promise<Children> {
    const [named, listing] = await Promise.all([
      this.named.children(request, this.clock.now()),
      this.engine.children(request, null, signal),
    ]);
    return pageOfChildren(request, named, listing);
  }

  async tables(request: TablesRequest, signal: AbortSignal): Promise<FoundTables> {
    const [named, listing] = await Promise.all([
      this.named.tables(request, this.clock.now()),
      this.engine.tables(request, signal),
    ]);
    return foundTables(request, named, listing);
  }

  async ownChildren(user: AuthenticatedUser, request: ChildrenRequest, signal: AbortSignal): Promise<Children> {
    const [{ grants }, listing] = await Promise.all([
      this.snapshots.readFor({ type: 'user', id: user.id }, null),
      this.engine.children(request, user.username, signal),
    ]);
    const nodes = grants.map(({ resource }) => resource);
    return pageOfChildren(request, namedChildren(nodes, request), listing);
  }
}
