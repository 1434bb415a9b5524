import { type InputFile, readInputFile } from '../platform/files/input-file.js';
import { remark, Unusable } from './output.js';
import { readFile, stat } from 'node:fs/promises';
import { reasonOf } from '../platform/files/plain-file.js';
import { replaceFile } from '../platform/files/whole-file.js';

/** Maximum size of a YAML file, whose reader takes a hundred times as much memory. */
export const YAML_MAX_BYTES = 8_000_000;

/** A text cannot be longer than 512 MB. */
const MAX_BYTES = 400_000_000;

/** Reads a file that the command line names, and reports a pipe that is waited for. */
export function readGiven(path: string, maxBytes = MAX_BYTES): InputFile {
  return readInputFile(path, {
    maxBytes,
    waiting: (seconds) => remark(`${path}: waiting for its writer: ${seconds} s`),
  });
}

/** @throws Unusable */
export function bytesOf(path: string): Buffer {
  const file = readGiven(path);
  if (file.kind === 'refused') throw new Unusable([`${path}: ${file.reason}`]);
  return file.bytes;
}

/** At most so many bytes of standard input. */
export function readStandardInput(maxBytes = MAX_BYTES): InputFile {
  return readInputFile(0, { maxBytes });
}

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
