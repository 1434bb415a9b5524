import { createGunzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { type Counter, Registry } from 'prom-client';
import { GrantUseStore } from '../grants/grant-use.store.js';
import { Clock } from '../kernel/clock.js';
import { Refused } from '../kernel/errors.js';
import { serialRunner } from '../kernel/promises.js';
import { counter } from '../platform/operations/metrics.js';
import { Settings } from '../platform/settings/settings.js';
import { DecisionCounts } from './domain/decision-counts.js';
import { JsonItems } from './domain/json-items.js';

const MAX_UNPACKED_BYTES = 16 * 1024 * 1024;

/** Limit of logs that wait while another log is read. */
const QUEUE = { name: 'decision-logs', limit: 32 };

/** The most counts that one statement writes. */
const BATCH_SIZE = 2_000;

const DAY_MS = 86_400_000;

/** Counts the decisions in OPA's logs. Reads one log at a time, so that concurrent logs need no more memory than a single one. */
@Injectable()
export class DecisionLogService {
  private readonly runInTurn = serialRunner();
  private readonly unknownOperations: Counter;
  private waitingLogCount = 0;

  constructor(
    private readonly grantUses: GrantUseStore,
    private readonly clock: Clock,
    private readonly settings: Settings,
    registry: Registry,
  ) {
    const help =
      'Requests to OPA for operations that its policy does not know, and denies; only with `OPA_DECISION_LOGS_ENABLED`.';
    this.unknownOperations = counter(registry, 'grantline_opa_unknown_operations_total', help);
  }

  /**
   * Counts the events of a log, a JSON array packed by gzip.
   * @throws Refused `payload_too_large`, `bad_request`, `malformed_json`, `too_many_requests`. Events before a fault are counted.
   */
  async count(packedLog: Buffer): Promise<void> {
    if (this.waitingLogCount >= QUEUE.limit) throw new Refused('too_many_requests', { quota: QUEUE, retryAfter: 1 });
    this.waitingLogCount += 1;
    try {
      await this.runInTurn(() => this.countEvents(packedLog));
    } catch (error) {
      if (error instanceof SyntaxError) throw new Refused('malformed_json', { cause: error });
      throw error;
    } finally {
      this.waitingLogCount -= 1;
    }
  }

  private async countEvents(packedLog: Buffer): Promise<void> {
    const now = this.clock.now();
    const { decisionLogs, serviceAccounts, readersMaintain } = this.settings.acl;
    const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
    const sinceDate = new Date(today - (decisionLogs.retentionDays - 1) * DAY_MS);
    const counts = new DecisionCounts({ now, since: sinceDate, serviceAccounts, readersMaintain });
    const items = new JsonItems();
    for await (const part of unpackedParts(packedLog)) {
      for (const event of items.read(part)) counts.add(event);
      if (counts.size >= BATCH_SIZE) await this.grantUses.record(counts.takeCounts());
    }
    items.throwIfUnfinished();
    await this.grantUses.record(counts.takeCounts());
    this.unknownOperations.inc(counts.unknownOperations);
  }
}

async function* unpackedParts(packedLog: Buffer): AsyncGenerator<Buffer> {
  let unpackedBytes = 0;
  const gunzip = createGunzip({ chunkSize: 64 * 1024 });
  gunzip.end(packedLog);
  try {
    for await (const part of gunzip as AsyncIterable<Buffer>) {
      unpackedBytes += part.length;
      if (unpackedBytes > MAX_UNPACKED_BYTES) throw new Refused('payload_too_large');
      yield part;
    }
  } catch (error) {
    const isNotGzip = error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
    throw isNotGzip ? new Refused('bad_request', { detail: 'The body is not packed by gzip.', cause: error }) : error;
  }
}
