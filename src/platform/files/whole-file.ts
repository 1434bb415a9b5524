import { randomBytes } from 'node:crypto';
import { chmod, link, lstat, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './plain-file.js';

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
  try {
    await writeFile(staged, content, { mode: 0o600, flag: 'wx', flush: true });
    await chmod(staged, mode);
    await publish(staged, path);
  } finally {
    await rm(staged, { force: true });
  }
  await flush(dirname(path));
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
