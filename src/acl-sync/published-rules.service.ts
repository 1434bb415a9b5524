import { Injectable } from '@nestjs/common';
import { PublishedRules, type PublishedVersion } from '../grants/domain/published-rules.js';
import { readRules } from '../trino-rules/document/rules-reader.js';
import { Evaluator } from '../trino-rules/engine/evaluator.js';
import { PublicationHistory } from './domain/publication-history.js';

/** Reads the text of a version once: hundreds of milliseconds for a large one, in which nobody else is answered. */
@Injectable()
export class PublishedRulesService extends PublishedRules {
  private latest: { version: number; engine: Promise<Evaluator | null> } | null = null;

  constructor(private readonly history: PublicationHistory) {
    super();
  }

  override async current(): Promise<PublishedVersion | null> {
    const [newest] = (await this.history.list({ limit: 1, after: null })).items;
    if (newest === undefined) return null;
    const { version } = newest;
    if (this.latest?.version !== version) this.latest = { version, engine: this.read(version) };
    const { latest } = this;
    try {
      const engine = await latest.engine;
      return engine && { version, engine };
    } catch (error) {
      if (this.latest === latest) this.latest = null; // to be read again
      throw error;
    }
  }

  /** Null: only texts that this reader accepts are published, but an earlier build may have published others. */
  private async read(version: number): Promise<Evaluator | null> {
    const publication = await this.history.find(version);
    const reading = publication && readRules(publication.text);
    return reading?.kind === 'read' ? new Evaluator(reading.document) : null;
  }
}
