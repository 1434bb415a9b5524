import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { NO_RULES } from '../../../src/acl-sync/rules/rules-document.js';
import { say } from '../progress.js';
import type { ApiServer } from './api-server.js';
import { RULES_CONFIGMAP, RULES_NAMESPACE, type ConfigMap } from './config-map.js';
import { writeProjectedVolume } from './projected-volume.js';

const PERIOD = 250;
const PATH = `/api/v1/namespaces/${RULES_NAMESPACE}/configmaps/${RULES_CONFIGMAP}`;
const RULES_KEY = 'rules.json';

/** Stands in for the kubelet of the engine's pod: projects the ConfigMap into a volume, and goes on until the run ends. */
export class RulesProjection {
  private projected = '';

  constructor(
    private readonly api: ApiServer,
    private readonly volume: string,
    private readonly ending: AbortSignal,
  ) {}

  get rulesFile(): string {
    return join(this.volume, RULES_KEY);
  }

  /** Returns when the volume holds rules for the first time. */
  async start(): Promise<void> {
    await this.project();
    if (this.projected === '') throw new Error('the ConfigMap with the rules cannot be read');
    this.follow().catch((failure: unknown) => {
      say(`the rules are not projected any more: ${String(failure)}`);
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
    const found = await this.api.get(PATH).catch(() => undefined);
    if (found === undefined) return;
    const { data, binaryData } = found as Partial<ConfigMap>;
    const content = JSON.stringify([data, binaryData]);
    if (content === this.projected) return;
    await writeProjectedVolume(this.volume, filesOf(data ?? {}, binaryData ?? {}), new Date());
    this.projected = content;
  }
}

function filesOf(data: Record<string, string>, binaryData: Record<string, string>): Map<string, Buffer> {
  // A kubelet would project an empty folder, and the engine's pod would wait for the first publication; here the engine is
  // started beside it, and nobody may anything meanwhile.
  const files = new Map([[RULES_KEY, Buffer.from(JSON.stringify(NO_RULES))]]);
  for (const [name, text] of Object.entries(data)) files.set(name, Buffer.from(text));
  for (const [name, base64] of Object.entries(binaryData)) files.set(name, Buffer.from(base64, 'base64'));
  return files;
}
