import { Injectable } from '@nestjs/common';
import { gzipSync } from 'node:zlib';
import {
  type Forecast,
  type Growth,
  PublishedRules,
  type PublishedVersion,
  SizeForecast,
} from '../grants/domain/admission-ports.js';
import { AccessIndex } from '../trino-rules/answers/access-index.js';
import { type Finding, isError } from '../trino-rules/document/finding.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { checkCapacity } from '../trino-rules/document/target-capacity.js';
import { Evaluator } from '../trino-rules/engine/evaluator.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesTargets } from './domain/rules-target.js';
import { RulesPreparer } from './domain/run-ports.js';
import { storedSnapshot } from './domain/version-access.js';
import { capacityFindings } from './publishing-run.js';

/** Caches the rules of the last version, because reading a large text blocks other requests for hundreds of milliseconds. */
@Injectable()
export class PublishedRulesService extends PublishedRules {
  private latest: { version: number; engine: Promise<PublishedVersion['engine'] | null> } | null = null;

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

  /** The evaluator of a version; null: an earlier build published it in a form that this build cannot read. */
  private async readEvaluator(version: number): Promise<PublishedVersion['engine'] | null> {
    const publication = await this.history.find(version);
    if (publication?.text === null) {
      const snapshot = storedSnapshot((await this.history.accessSnapshot(version)) ?? '');
      return snapshot && new AccessIndex(snapshot);
    }
    const reading = publication && readRules(publication.text);
    return reading?.kind === 'read' ? new Evaluator(reading.document) : null;
  }
}

/**
 * Estimates the size of the next rules: the published size, plus an upper bound of the growth. Rules are compiled, in another process, only
 * if the estimate exceeds the limit, because compiling for each request would be too slow.
 */
@Injectable()
export class PublishedSizeForecast extends SizeForecast {
  constructor(
    private readonly history: PublicationHistory,
    private readonly preparer: RulesPreparer,
    private readonly targets: RulesTargets,
  ) {
    super();
  }

  override async forecast(
    read: () => Promise<Snapshot>,
    readGrowth: (since: Date) => Promise<Growth>,
  ): Promise<Forecast | null> {
    const limitBytes = this.targets.limitBytes;
    if (limitBytes === null) return null;
    const latestPublication = await this.history.latest();
    const { bytes, isWide } = await readGrowth(latestPublication?.snapshotAt ?? new Date(0));
    const text = latestPublication?.text ?? '';
    const formerRules = { text, bytes: Buffer.byteLength(text) };
    // A wide change (`isWide`) may turn each former rule into two. `compressedNextBytes` assumes that compression halves the text.
    const nextBytes = (isWide ? 2 : 1) * formerRules.bytes + bytes;
    const sizes = { formerBytes: formerRules.bytes, compressedFormerBytes: () => gzipSync(text).length };
    const findings = checkCapacity({ ...sizes, nextBytes, compressedNextBytes: () => nextBytes / 2 }, limitBytes);
    if (!findings.some(isError)) return forecastOf(capacityFindings(formerRules, text, limitBytes));
    const compilation = await this.preparer.run('compile', await read(), limitBytes);
    if (compilation.kind === 'too-large') return { fits: false, message: compilation.finding.message };
    const { text: nextText } = compilation;
    return forecastOf(capacityFindings({ text: nextText, bytes: Buffer.byteLength(nextText) }, text, limitBytes));
  }
}

function forecastOf([finding]: readonly Finding[]): Forecast | null {
  return finding === undefined ? null : { fits: !isError(finding), message: finding.message };
}
