import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf } from './plain-file.js';

/** A staged file of this age belongs to a process that was killed: writing one takes far less. */
const LEFTOVER_MS = 600_000;

/**
 * Replaces a file, or makes it, so that readers meet the old content or the new one, also after a power failure. A link under
 * the file's name is replaced, not followed.
 * @param mode its permissions, whatever the umask.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  await publishStaged(path, content, mode, rename);
}

/** Creates a file that is complete as soon as it is visible. An existing file is not changed. */
export async function createFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  if (await lstat(path).catch(() => null)) return;
  await publishStaged(path, content, mode, async (staged) => {
    try {
      await link(staged, path);
    } catch (error) {
      // Otherwise another process was first.
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  });
}

/** @param publish gives the staged file its final name. */
async function publishStaged(
  path: string,
  content: string | Uint8Array,
  mode: number,
  publish: (staged: string, path: string) => Promise<void>,
): Promise<void> {
  // The name cannot be foreseen, so no link can have been put there.
  const staged = `${path}.${randomBytes(16).toString('hex')}.next`;
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  let stagedAt: number;
  const file = await open(staged, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600);
  try {
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      await file.sync();
      stagedAt = (await file.stat()).mtimeMs;
    } finally {
      await file.close();
    }
    await publish(staged, path);
  } finally {
    await rm(staged, { force: true });
  }
  await flush(dirname(path));
  await removeLeftovers(path, stagedAt);
}

/**
 * A leftover that cannot be removed belongs to another account, or is gone already.
 * @param now by the clock of the file system.
 */
async function removeLeftovers(path: string, now: number): Promise<void> {
  const prefix = `${basename(path)}.`;
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{32}\.next$/.test(name.slice(prefix.length))) continue;
    const leftover = join(dirname(path), name);
    const found = await lstat(leftover).catch(() => null);
    if (found !== null && now - found.mtimeMs > LEFTOVER_MS) await rm(leftover).catch(() => undefined);
  }
}

/** A name is only lasting once its folder is on the disk. */
async function flush(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
