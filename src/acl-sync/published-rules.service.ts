import { Injectable } from '@nestjs/common';
import { PublishedRules } from '../grants/domain/published-rules.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { Evaluator } from '../trino-rules/engine/evaluator.js';
import { PublicationHistory } from './domain/publication-history.js';

/** Reads the text of a version once. */
@Injectable()
export class PublishedRulesService extends PublishedRules {
  private latest: { version: number; engine: Evaluator } | null = null;

  constructor(private readonly history: PublicationHistory) {
    super();
  }

  override async current(): Promise<{ version: number; engine: Evaluator } | null> {
    const [newest] = (await this.history.list({ limit: 1, after: null })).items;
    if (newest === undefined || newest.version === this.latest?.version) return this.latest;
    const publication = await this.history.find(newest.version);
    const reading = publication && readRules(publication.text);
    // Only texts that this reader accepts are published; an earlier build may have published others.
    if (reading?.kind !== 'read') return null;
    this.latest = { version: newest.version, engine: new Evaluator(reading.document) };
    return this.latest;
  }
}
