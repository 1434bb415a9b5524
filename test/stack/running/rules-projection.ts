import { setTimeout as pause } from 'node:timers/promises';

import { NO_RULES } from '../../../src/trino-rules/document/rules-document.js';
import { report } from '../progress.js';
import type { ApiServer } from './api-server.js';
import { RULES_NAMESPACE, type ConfigMap } from './config-map.js';
import { engineValues, rulesMount, type RulesVolume } from './engine-values.js';
import { writeProjectedVolume } from './projected-volume.js';

const PERIOD = 250;

/** Stands in for the kubelet of the engine's pod: projects the ConfigMap that `helm/engine` mounts, until the run ends. */
export class RulesProjection {
  private projected = '';
  private readonly source = rulesVolume();

  constructor(
    private readonly api: ApiServer,
    private readonly volume: string,
    private readonly ending: AbortSignal,
  ) {}

  /** Returns when the volume holds rules for the first time. */
  async start(): Promise<void> {
    await this.project();
    if (this.projected === '') throw new Error('the ConfigMap with the rules cannot be read');
    this.follow().catch((failure: unknown) => {
      report(`the rules are not projected any more: ${String(failure)}`);
    });
  }

  private async follow(): Promise<void> {
    while (!this.ending.aborted) {
      await pause(PERIOD, undefined, { signal: this.ending }).catch(() => undefined);
      await this.project();
    }
  }

  private async project(): Promise<void> {
    // As a kubelet does: while the API cannot be reached, what was projected stays.
    const path = `/api/v1/namespaces/${RULES_NAMESPACE}/configmaps/${this.source.name}`;
    const found = await this.api.get(path).catch(() => undefined);
    if (found === undefined) return;
    const { data = {}, binaryData = {} } = found as Partial<ConfigMap>;
    const content = JSON.stringify([data, binaryData]);
    if (content === this.projected) return;
    await writeProjectedVolume(this.volume, projectedRules({ data, binaryData }, this.source), new Date());
    this.projected = content;
  }
}

/** The files of that volume, out of the ConfigMap's maps. */
export function projectedRules(
  { data, binaryData }: Pick<ConfigMap, 'data' | 'binaryData'>,
  { items }: RulesVolume = rulesVolume(),
): Map<string, Buffer> {
  const texts = new Map(Object.entries(data).map(([key, text]) => [key, Buffer.from(text)]));
  for (const [key, base64] of Object.entries(binaryData)) texts.set(key, Buffer.from(base64, 'base64'));
  // A kubelet would let the engine's pod wait for the first publication; here the engine is started beside it, and nobody may
  // anything meanwhile.
  const closed = Buffer.from(JSON.stringify(NO_RULES));
  return new Map(items.map(({ key, path }) => [path, texts.get(key) ?? closed]));
}

/** Of the ConfigMap, as the engine's chart mounts it. */
function rulesVolume(): RulesVolume {
  return rulesMount(engineValues('insecure')).volume;
}
