import { Injectable } from '@nestjs/common';
import { Settings } from '../platform/settings/settings.js';
import { judgeRulesProbe, type RulesInForce } from './domain/engine-error.js';
import { EngineConnections } from './engine-connections.service.js';
import { textPairs } from './running-statement.js';

/** A session property that all rules published by Grantline deny. */
const DENIED_PROPERTY = 'grantline_rules_none';
/** Seconds for each statement. */
const STATEMENT_TIMEOUT = 30;

/** Runs the statements by which publishing observes the engine, as the service account. */
@Injectable()
export class EngineProbe {
  constructor(
    private readonly connections: EngineConnections,
    private readonly settings: Settings,
  ) {}

  /**
   * Which rules are in force: those that name this session property, or others.
   * @param property `grantline_rules_<hash>`, which no engine defines.
   */
  async rulesInForce(property: string): Promise<RulesInForce> {
    if (!/^\w+$/.test(property)) throw new Error('a session property has letters, digits and underscores');
    if (this.settings.engine.origin === null) return 'unreachable';
    const answer = await this.probeProperty(property);
    // Foreign rules without a section on session properties allow every property. DENIED_PROPERTY detects them: rules of Grantline deny it.
    return answer === 'these' && (await this.probeProperty(DENIED_PROPERTY)) === 'these' ? 'others' : answer;
  }

  /** The catalogs that the service account may access, with their connectors; null: the engine gave no answer. */
  async catalogs(): Promise<{ catalog: string; connector: string }[] | null> {
    if (this.settings.engine.origin === null) return null;
    const sql = 'SELECT catalog_name, connector_name FROM system.metadata.catalogs';
    const { rows } = await this.connections.rowsOrError(sql, { timeout: STATEMENT_TIMEOUT });
    return rows && textPairs(rows).map(([catalog, connector]) => ({ catalog, connector }));
  }

  /** The texts of the first rows of a statement with one column; null: the engine gave no answer. */
  async readColumn(sql: string): Promise<string[] | null> {
    const { rows } = await this.connections.rowsOrError(sql, { timeout: STATEMENT_TIMEOUT, maxRows: 5 });
    return rows?.map(([value]) => (typeof value === 'string' ? value : 'no text')) ?? null;
  }

  private async probeProperty(property: string): Promise<RulesInForce> {
    const sql = `SET SESSION ${property} = true`;
    const { rows, error } = await this.connections.rowsOrError(sql, { timeout: STATEMENT_TIMEOUT });
    return rows === null && error === null ? 'unreachable' : judgeRulesProbe(error);
  }
}
