import { Injectable } from '@nestjs/common';
import { gzipSync } from 'node:zlib';
import {
  type Forecast,
  type Growth,
  PublishedRules,
  type PublishedVersion,
  SizeForecast,
} from '../grants/domain/admission-ports.js';
import { type Finding, isError } from '../trino-rules/document/finding.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { checkCapacity } from '../trino-rules/document/target-capacity.js';
import { Evaluator } from '../trino-rules/engine/evaluator.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesTarget } from './domain/rules-target.js';
import { RulesPreparer } from './domain/run-ports.js';
import { capacityFindings } from './publishing-run.js';

/** Caches the rules of the last version: reading a large text blocks other requests for hundreds of milliseconds. */
@Injectable()
export class PublishedRulesService extends PublishedRules {
  private latest: { version: number; engine: Promise<Evaluator | null> } | null = null;

  constructor(private readonly history: PublicationHistory) {
    super();
  }

  override async currentVersion(): Promise<PublishedVersion | null> {
    const [newest] = (await this.history.list({ limit: 1, after: null })).items;
    if (newest === undefined) return null;
    const { version } = newest;
    if (this.latest?.version !== version) this.latest = { version, engine: this.readEvaluator(version) };
    const { latest } = this;
    try {
      const engine = await latest.engine;
      return engine && { version, engine };
    } catch (error) {
      if (this.latest === latest) this.latest = null; // the next call reads it again
      throw error;
    }
  }

  /** An evaluator of a version. Null: an earlier build has published a text that this reader does not accept. */
  private async readEvaluator(version: number): Promise<Evaluator | null> {
    const publication = await this.history.find(version);
    const reading = publication && readRules(publication.text);
    return reading?.kind === 'read' ? new Evaluator(reading.document) : null;
  }
}

/**
 * Estimates the size of the next rules from the published ones and an upper estimate of their growth. Rules are compiled, in another
 * process, only if the estimate exceeds the limit, because a request must not cost as much as a run.
 */
@Injectable()
export class PublishedSizeForecast extends SizeForecast {
  constructor(
    private readonly history: PublicationHistory,
    private readonly preparer: RulesPreparer,
    private readonly target: RulesTarget,
  ) {
    super();
  }

  override async forecast(
    read: () => Promise<Snapshot>,
    growth: (since: Date) => Promise<Growth>,
  ): Promise<Forecast | null> {
    const limit = this.target.limitBytes;
    if (limit === null) return null;
    const published = await this.history.latest();
    const { bytes, isWide } = await growth(published?.snapshotAt ?? new Date(0));
    const former = published?.text ?? '';
    const known = Buffer.byteLength(former);
    // A wide change can split every rule in two. Compression saves at least half of the size.
    const estimated = (isWide ? 2 : 1) * known + bytes;
    const sizes = { former: known, formerCompressed: () => gzipSync(former).length };
    const estimate = checkCapacity({ ...sizes, next: estimated, nextCompressed: () => estimated / 2 }, limit);
    if (!estimate.some(isError)) return forecastOf(capacityFindings({ text: former, bytes: known }, former, limit));
    const compiled = await this.preparer.compile(await read(), limit);
    if (compiled.kind === 'too-large') return { fits: false, message: compiled.finding.message };
    const { text } = compiled;
    return forecastOf(capacityFindings({ text, bytes: Buffer.byteLength(text) }, former, limit));
  }
}

function forecastOf([finding]: readonly Finding[]): Forecast | null {
  return finding === undefined ? null : { fits: !isError(finding), message: finding.message };
}
