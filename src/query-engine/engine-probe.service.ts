import { Injectable } from '@nestjs/common';
import { Settings } from '../platform/settings/settings.js';
import { judgeRulesProbe, type RulesInForce } from './domain/engine-error.js';
import { EngineConnections } from './engine-connections.service.js';
import { textPairs } from './running-statement.js';

/** A session property that the rules of every version deny. */
const NO_VERSION = 'grantline_rules_none';
/** Seconds for each statement. */
const STATEMENT_TIMEOUT = 30;

/** Runs the sync's statements on the engine as the service account. */
@Injectable()
export class EngineProbe {
  constructor(
    private readonly connections: EngineConnections,
    private readonly settings: Settings,
  ) {}

  /**
   * Whether the rules that name this session property are in force.
   * @param property `grantline_rules_<hash>`, which no engine defines.
   */
  async rulesInForce(property: string): Promise<RulesInForce> {
    if (!/^\w+$/.test(property)) throw new Error('a session property has letters, digits and underscores');
    if (this.settings.engine.origin === null) return 'unreachable';
    const answer = await this.probe(property);
    // Rules without session properties allow every one, so these rules are in force only if NO_VERSION is denied.
    return answer === 'these' && (await this.probe(NO_VERSION)) === 'these' ? 'others' : answer;
  }

  /** The catalogs that the service account may enter, with their connectors; null: no answer. */
  async catalogs(): Promise<{ catalog: string; connector: string }[] | null> {
    if (this.settings.engine.origin === null) return null;
    const sql = 'SELECT catalog_name, connector_name FROM system.metadata.catalogs';
    const { rows } = await this.connections.rowsOrError(sql, { timeout: STATEMENT_TIMEOUT });
    return rows && textPairs(rows).map(([catalog, connector]) => ({ catalog, connector }));
  }

  private async probe(property: string): Promise<RulesInForce> {
    const sql = `SET SESSION ${property} = true`;
    const { rows, error } = await this.connections.rowsOrError(sql, { timeout: STATEMENT_TIMEOUT });
    return rows === null && error === null ? 'unreachable' : judgeRulesProbe(error);
  }
}
