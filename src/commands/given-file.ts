import { type InputFile, readInputFile } from '../platform/files/input-file.js';
import { remark } from './output.js';

/** Of a file of YAML: its reader takes a hundred times the size. */
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

/** Null: it cannot be read, which has been printed. */
export function bytesOf(path: string): Buffer | null {
  const file = readGiven(path);
  if (file.kind === 'read') return file.bytes;
  remark(`${path}: ${file.reason}`);
  return null;
}

/** At most so many bytes of standard input. */
export function readStandardInput(maxBytes = MAX_BYTES): InputFile {
  return readInputFile(0, { maxBytes });
}
