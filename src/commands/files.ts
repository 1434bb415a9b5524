import { readInputFile } from '../platform/files/input-file.js';
import { remark, Unusable } from './output.js';
import { readFile, stat } from 'node:fs/promises';
import { reasonOf } from '../platform/files/plain-file.js';
import { replaceFile } from '../platform/files/whole-file.js';

/** The largest YAML file in bytes: its reader takes a hundred times as much memory. */
export const YAML_MAX_BYTES = 8_000_000;

/** @throws Unusable */
export function bytesOf(path: string): Buffer {
  const file = readInputFile(path);
  if (file.kind === 'refused') throw new Unusable([`${path}: ${file.reason}`]);
  return file.bytes;
}

/**
 * Writes a command's result to a file, wholly or not at all, and reports if it replaces another file. Replaces a link instead of
 * following it. @throws Error that names the file
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
