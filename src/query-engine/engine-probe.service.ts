import { Injectable } from '@nestjs/common';
import { Settings } from '../platform/settings/settings.js';
import { DatabaseError, DbApiError } from './domain/db-api-errors.js';
import { judgeRulesProbe, type RulesInForce } from './domain/engine-error.js';
import { EngineConnections } from './engine-connections.service.js';

/** Denied by the rules of every version. */
const NO_VERSION = 'grantline_rules_none';
/** Seconds. */
const STATEMENT_TIMEOUT = 30;

/** Statements of the sync on the engine, run as the service account. */
@Injectable()
export class EngineProbe {
  constructor(
    private readonly connections: EngineConnections,
    private readonly settings: Settings,
  ) {}

  /**
   * Whether the rules that name this session property are in force.
   * @param property `grantline_rules_<hash>`, which no engine has.
   */
  async rulesInForce(property: string): Promise<RulesInForce> {
    if (!/^\w+$/.test(property)) throw new Error('a session property has letters, digits and underscores');
    if (this.settings.engine.origin === null) return 'unreachable';
    const answer = await this.answerTo(property);
    // Rules without the section allow every property, so a marker that no version has must be denied.
    return answer === 'these' && (await this.answerTo(NO_VERSION)) === 'these' ? 'others' : answer;
  }

  /** The catalogs that the service account may enter, with their connectors; null: no answer. */
  async catalogs(): Promise<{ catalog: string; connector: string }[] | null> {
    if (this.settings.engine.origin === null) return null;
    try {
      const sql = 'SELECT catalog_name, connector_name FROM system.metadata.catalogs';
      const rows = await this.connections.rowsOf(sql, { timeout: STATEMENT_TIMEOUT });
      return rows.flatMap(([catalog, connector]) =>
        typeof catalog === 'string' && typeof connector === 'string' ? [{ catalog, connector }] : [],
      );
    } catch (error) {
      if (!(error instanceof DbApiError)) throw error;
      return null;
    }
  }

  private async answerTo(property: string): Promise<RulesInForce> {
    try {
      await this.connections.rowsOf(`SET SESSION ${property} = true`, { timeout: STATEMENT_TIMEOUT });
      return judgeRulesProbe(null);
    } catch (error) {
      if (!(error instanceof DbApiError)) throw error;
      return error instanceof DatabaseError && error.engine !== null ? judgeRulesProbe(error.engine) : 'unreachable';
    }
  }
}
