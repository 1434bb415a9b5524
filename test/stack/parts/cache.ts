import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where installed parts are kept between runs. Once made they are only read, so that several runs can share them. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  return env['GRANTLINE_STACK_CACHE'] ?? join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'grantline');
}

/**
 * The folder `key` of the cache, made by `make` if it is not there. It appears under its name in one step, when it is whole:
 * what a broken-off install leaves behind is never used, and is removed by the next one.
 * @param members paths inside the folder, without which it does not count as whole
 */
export async function cached(
  cache: string,
  key: string,
  members: readonly string[],
  make: (staging: string) => Promise<void>,
): Promise<string> {
  const folder = join(cache, key);
  const whole = () => members.every((member) => existsSync(join(folder, member)));
  if (whole()) return folder;

  await removeLeftovers(cache, key);
  const staging = join(cache, `.${key}.${process.pid}`);
  await mkdir(staging, { recursive: true });
  try {
    await make(staging);
    // Another run may have been faster.
    if (whole()) return folder;
    await rm(folder, { recursive: true, force: true });
    await rename(staging, folder);
    return folder;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function removeLeftovers(cache: string, key: string): Promise<void> {
  const prefix = `.${key}.`;
  for (const name of existsSync(cache) ? await readdir(cache) : []) {
    if (!name.startsWith(prefix) || isAlive(Number(name.slice(prefix.length)))) continue;
    await rm(join(cache, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (failure) {
    // EPERM: it runs, and belongs to another user.
    return (failure as NodeJS.ErrnoException).code === 'EPERM';
  }
}
