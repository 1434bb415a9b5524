import { gzipSync } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { type Forecast, type Growth, SizeForecast } from '../grants/domain/size-forecast.js';
import { isError } from '../trino-rules/document/finding.js';
import { checkCapacity } from '../trino-rules/document/target-capacity.js';
import type { Snapshot } from '../trino-rules/model/snapshot.js';
import { PublicationHistory } from './domain/publication-history.js';
import { RulesPreparer } from './domain/rules-preparer.js';
import { RulesTarget } from './domain/rules-target.js';

/**
 * Tells by what is published, and by a generous guess at what was written since, whether the next rules will fit. Only where the
 * guess says that they may not are they compiled, in a process of their own: a request must not cost what a run costs.
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
    // What changes rules that it does not name can split each of them in two; compressed, rules take less than half.
    const guessed = (isWide ? 2 : 1) * known + bytes;
    const formerCompressed = () => gzipSync(former).length;
    const beside = { former: known, formerCompressed };
    const guess = checkCapacity({ ...beside, next: guessed, nextCompressed: () => guessed / 2 }, limit);
    if (!isTooLarge(guess))
      return forecastOf(checkCapacity({ ...beside, next: known, nextCompressed: formerCompressed }, limit));
    const text = await this.preparer.compile(await read());
    return forecastOf(
      checkCapacity({ ...beside, next: Buffer.byteLength(text), nextCompressed: () => gzipSync(text).length }, limit),
    );
  }
}

function isTooLarge({ findings }: ReturnType<typeof checkCapacity>): boolean {
  return findings.some(isError);
}

function forecastOf(fitting: ReturnType<typeof checkCapacity>): Forecast | null {
  const [finding] = fitting.findings;
  return finding === undefined ? null : { fits: !isTooLarge(fitting), message: finding.message };
}
