import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheFolder } from '../stack/parts/cache.js';
import { installImageNode } from '../stack/parts/image.js';
import { imageSettings } from '../stack/running/container.js';
import { Processes } from '../stack/running/processes.js';

/** What the service runs on where it is installed: the image's Node, and what the image's environment sets for that. */
export async function imageNode(): Promise<{ node: string; environment: Record<string, string> }> {
  const folder = mkdtempSync(join(tmpdir(), 'grantline-bench-'));
  const processes = new Processes(folder);
  try {
    const node = join(await installImageNode(processes, cacheFolder(process.env)), 'node');
    const { NODE_OPTIONS = '', MALLOC_ARENA_MAX = '' } = imageSettings().env;
    return { node, environment: { NODE_OPTIONS, MALLOC_ARENA_MAX } };
  } finally {
    await processes.stopAll();
    rmSync(folder, { recursive: true, force: true });
  }
}
