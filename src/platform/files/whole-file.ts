import { randomBytes } from 'node:crypto';
import { link, lstat, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './plain-file.js';

/**
 * Replaces or creates a file, so that readers see the old or the new content, also after a power failure. A link with the file's name is
 * replaced, not followed.
 * @param mode the file's permissions, regardless of the umask.
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
      // EEXIST: another process has created the file.
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
  // The name cannot be guessed, so nobody can have put a link there.
  const staged = `${path}.${randomBytes(16).toString('hex')}.next`;
  try {
    const file = await open(staged, 'wx', 0o600);
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      await file.sync();
    } finally {
      await file.close();
    }
    await publish(staged, path);
  } finally {
    await rm(staged, { force: true });
  }
  await flush(dirname(path));
}

/** Writes a folder to the disk: only then are the names of its files durable. */
async function flush(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
