import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { Oracle } from '../engine-oracle/oracle.js';
import { writeProjectedVolume } from '../running/projected-volume.js';
import { projectedRules } from '../running/rules-projection.js';
import { until } from '../running/until.js';
import type { SpecStack } from '../stack.js';
import type { RulesMap, StoredRules } from './rules-map.js';

const WITHIN = 120_000;

/**
 * The engine's pod: every version of the ConfigMap is projected into a volume, one after the other, and the engine's own access
 * control reads the file there again and again.
 */
export class EngineReader {
  /** Everything that the API server has held, oldest first. */
  readonly stored: StoredRules[] = [];
  private readonly ending = new AbortController();
  private projecting: Promise<void> = Promise.resolve();

  private constructor(
    private readonly rules: RulesMap,
    private readonly oracle: Oracle,
    private readonly folder: string,
  ) {}

  static async start({ folder, parts }: SpecStack, rules: RulesMap): Promise<EngineReader> {
    const oracle = await Oracle.start(parts.javaHome, parts.engineOracle);
    const reader = new EngineReader(rules, oracle, await mkdtemp(join(folder, 'volume-')));
    await reader.project({ data: {}, binaryData: {} });
    await oracle.watch(join(reader.folder, 'rules.json'));
    await rules.watch(reader.ending.signal, (stored) => {
      reader.stored.push(stored);
      // Without the key, a kubelet leaves what it has projected.
      if (stored.text !== undefined) reader.projecting = reader.projecting.then(() => reader.project(stored));
    });
    return reader;
  }

  /** Waits until the present version has been seen, projected and read. @returns every version so far */
  async caughtUp(): Promise<readonly StoredRules[]> {
    const { resourceVersion } = await this.rules.read();
    await until('the watch has caught up', WITHIN, () =>
      Promise.resolve(this.stored.some((stored) => stored.resourceVersion === resourceVersion) ? true : undefined),
    );
    await this.projecting;
    const { reads } = await this.oracle.watched();
    // The one that is under way may have begun before.
    await until('the file is read', WITHIN, async () =>
      (await this.oracle.watched()).reads >= reads + 2 ? true : undefined,
    );
    return this.stored;
  }

  /** What the engine refused: of the file at any moment, and of any text that was ever in the ConfigMap. */
  async refusals(): Promise<string[]> {
    await this.caughtUp();
    const { refusals } = await this.oracle.watched();
    for (const text of new Set(this.stored.map(({ text }) => text))) {
      const loading = text === undefined ? null : await this.oracle.load(text);
      if (loading?.loaded === false) refusals.push(loading.error);
    }
    return refusals;
  }

  async stop(): Promise<void> {
    this.ending.abort();
    await this.projecting;
    await this.oracle.stop();
    await rm(this.folder, { recursive: true, force: true });
  }

  private project(stored: Pick<StoredRules, 'data' | 'binaryData'>): Promise<void> {
    return writeProjectedVolume(this.folder, projectedRules(stored), new Date());
  }
}
