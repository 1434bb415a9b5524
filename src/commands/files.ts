import { readInputFile } from '../platform/files/input-file.js';
import { printRemark, UnusableInput } from './output.js';
import { readFile, stat } from 'node:fs/promises';
import { reasonOf } from '../platform/files/plain-file.js';
import { replaceFile } from '../platform/files/whole-file.js';

/** The largest YAML file in bytes: its reader takes a hundred times as much memory. */
export const YAML_MAX_BYTES = 8_000_000;

/** Reads a whole input file. @throws UnusableInput */
export function readBytes(path: string): Buffer {
  const file = readInputFile(path);
  if (file.kind === 'refused') throw new UnusableInput([`${path}: ${file.reason}`]);
  return file.bytes;
}

/**
 * Writes a command's result to a file, wholly or not at all, and reports if it replaces another file. Replaces a link instead of
 * following it. @throws Error that names the file
 */
export async function writeResult(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const stats = await stat(path).catch(() => null);
  if (stats?.isFile() === false) throw new Error(`${path} cannot be written: it is a directory, a device or a pipe`);
  const oldContent = stats === null ? null : await readFile(path).catch(() => Buffer.alloc(0));
  try {
    await replaceFile(path, content, mode);
    if (oldContent?.equals(Buffer.from(content)) === false) printRemark(`${path} was there, and is replaced`);
  } catch (error) {
    const fileState = stats === null ? 'there is no such file' : 'the file is what it was';
    throw new Error(`${path} cannot be written, and ${fileState}: ${reasonOf(error)}`, { cause: error });
  }
}
