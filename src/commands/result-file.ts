import { readFile, stat } from 'node:fs/promises';
import { reasonOf } from '../platform/files/plain-file.js';
import { replaceFile } from '../platform/files/whole-file.js';
import { remark } from './output.js';

/**
 * Writes a command's result into a file, whole or not at all, and says where it replaces another. A link is replaced, not followed.
 * @throws Error that names the file
 */
export async function writeResult(path: string, content: string, mode: number): Promise<void> {
  const present = await stat(path).catch(() => null);
  if (present?.isFile() === false) throw new Error(`${path} cannot be written: it is a directory, a device or a pipe`);
  const before = present === null ? null : await readFile(path, 'utf8').catch(() => '');
  try {
    await replaceFile(path, content, mode);
    if (before !== null && before !== content) remark(`${path} was there, and is replaced`);
  } catch (error) {
    const state = present === null ? 'there is no such file' : 'the file is what it was';
    throw new Error(`${path} cannot be written, and ${state}: ${reasonOf(error)}`, { cause: error });
  }
}
