import { randomBytes } from 'node:crypto';
import { link, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './plain-file.js';

/**
 * Replaces or creates a file in one step: readers see the old or the new content, even after a power failure. A link with the file's name
 * is replaced, not followed.
 * @param mode the file's permissions, regardless of the umask.
 */
export async function replaceFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  await publishStagedFile(path, content, mode, rename);
}

/** Creates a file that is complete as soon as it is visible. An existing file is not changed. */
export async function createFile(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  if (await lstat(path).catch(() => null)) return;
  await publishStagedFile(path, content, mode, async (stagedPath) => {
    try {
      await link(stagedPath, path);
    } catch (error) {
      // EEXIST is ignored: another process has created the file meanwhile.
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  });
}

/** Writes a file under a temporary name. @param publish gives the file its final name */
async function publishStagedFile(
  path: string,
  content: string | Uint8Array,
  mode: number,
  publish: (stagedPath: string, path: string) => Promise<void>,
): Promise<void> {
  // The name cannot be guessed, so nobody can have put a link there.
  const stagedPath = `${path}.${randomBytes(16).toString('hex')}.next`;
  try {
    const file = await open(stagedPath, 'wx', 0o600);
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await publish(stagedPath, path);
  } finally {
    await rm(stagedPath, { force: true });
  }
  await flushFolder(dirname(path));
}

/** Writes a folder to the disk. Without this the names of its files can be lost in a power failure. */
async function flushFolder(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
