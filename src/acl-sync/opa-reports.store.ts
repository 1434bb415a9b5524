import { Injectable } from '@nestjs/common';
import { DatabaseSession } from '../platform/database/database-session.js';
import type { CanaryAnswer, OpaInstance, OpaReports } from './domain/opa-status.js';

const UPSERT_INSTANCE = `INSERT INTO opa_instances (instance, revision, errors, last_seen_at, last_request_at)
  VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (instance) DO UPDATE SET revision = $2, errors = $3, last_seen_at = $4, last_request_at = $5`;

/** Removes instances without a report in the last day, and all but the 100 with the latest reports. Not in one transaction with `UPSERT_INSTANCE`: two reports could deadlock. */
const REMOVE_PAST_INSTANCES = `DELETE FROM opa_instances WHERE last_seen_at < $1::timestamptz - interval '1 day'
  OR instance IN (SELECT instance FROM opa_instances ORDER BY last_seen_at DESC, instance OFFSET 100)`;

/** The reports of instances of OPA, and the engine's answers about OPA's revision. */
@Injectable()
export class OpaReportsStore {
  constructor(private readonly session: DatabaseSession) {}

  async record({ instance, revision, errors, seenAt, requestedAt }: OpaInstance): Promise<void> {
    await this.session.query(UPSERT_INSTANCE, [instance, revision, errors, seenAt, requestedAt]);
    await this.session.query(REMOVE_PAST_INSTANCES, [seenAt]);
  }

  async recordCanary({ answer, at }: CanaryAnswer): Promise<void> {
    const upsert =
      'INSERT INTO opa_canary (answer, at) VALUES ($1, $2) ON CONFLICT (only_row) DO UPDATE SET answer = $1, at = $2';
    await this.session.query(upsert, [answer, at]);
  }

  /** The instances in the order of their names. */
  async read(): Promise<OpaReports> {
    const instances = await this.session.query<OpaInstance>(
      `SELECT instance, revision, errors, last_seen_at AS "seenAt", last_request_at AS "requestedAt"
         FROM opa_instances ORDER BY instance`,
    );
    return { instances, canary: await this.session.firstRow<CanaryAnswer>('SELECT answer, at FROM opa_canary') };
  }
}
