import { execFileSync } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress } from 'node:zlib';
import type { LaunchOptions } from '@playwright/test';
import { cached, cacheFolder } from '../../stack/parts/cache.js';

/** Of @sparticuz/chromium, pinned in package.json. */
const VERSION = '147.0.0';
const PACKED = join(import.meta.dirname, '../../../node_modules/@sparticuz/chromium/bin');

/** Another name of this machine in the browser, which trusts plain HTTP to it no more than to any other machine. */
export const OTHER_NAME = 'grantline.test';

/**
 * Chromium out of its npm package, unpacked once per machine; elsewhere than on Linux on x86-64 the Chrome that is installed.
 * The package's own code is not used: it unpacks into a predictable temporary folder, and turns web security off.
 */
export async function installBrowser(env: NodeJS.ProcessEnv): Promise<LaunchOptions> {
  if (platform() !== 'linux' || arch() !== 'x64') return { channel: 'chrome' };
  const folder = await cached(cacheFolder(env), `chromium-${VERSION}`, ['chromium', 'lib'], async (staging) => {
    await unpack('chromium.br', join(staging, 'chromium'));
    await chmod(join(staging, 'chromium'), 0o755);
    const archive = join(staging, 'libraries.tar');
    await unpack('al2023.tar.br', archive);
    execFileSync('tar', ['-xf', archive, '-C', staging, '--no-same-owner']);
    await rm(archive);
  });
  const executablePath = join(folder, 'chromium');
  const lacksLibraries = execFileSync('ldd', [executablePath], { encoding: 'utf8' }).includes('not found');
  return { executablePath, env: lacksLibraries ? { ...env, LD_LIBRARY_PATH: join(folder, 'lib') } : env };
}

async function unpack(name: string, to: string): Promise<void> {
  await pipeline(createReadStream(join(PACKED, name)), createBrotliDecompress(), createWriteStream(to));
}
