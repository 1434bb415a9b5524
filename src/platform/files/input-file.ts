import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { codeOf, reasonOf } from './plain-file.js';

/** A file's bytes, or the reason why the file is not read. */
export type InputFile = { kind: 'read'; bytes: Buffer } | { kind: 'refused'; reason: string };

const STANDARD_INPUT = 0;
/** The default limit of bytes. It is below 512 MB, because a JavaScript text cannot be longer. */
const MAX_BYTES = 400_000_000;
const CHUNK_BYTES = 1_048_576;
const POLL_MS = 20;

/**
 * Reads a file or pipe that a person has named. Refuses devices and sockets, and anything longer than the limit. Synchronous, because
 * only commands use it.
 * @param file a path, or 0 for standard input
 * @param maxBytes a longer file is refused
 */
export function readInputFile(file: string | typeof STANDARD_INPUT, maxBytes = MAX_BYTES): InputFile {
  try {
    const descriptor = file === STANDARD_INPUT ? file : openSync(file, 'r');
    try {
      const stats = fstatSync(descriptor);
      const reason = kindProblem(stats, descriptor) ?? sizeProblem(stats.size, maxBytes);
      return reason === null ? readAll(descriptor, maxBytes) : { kind: 'refused', reason };
    } finally {
      if (descriptor !== STANDARD_INPUT) closeSync(descriptor);
    }
  } catch (error) {
    return { kind: 'refused', reason: codeOf(error) === 'ENXIO' ? 'is a socket or a device' : reasonOf(error) };
  }
}

/** The reason not to read a file of this kind; null: it is read. Standard input may also be a terminal or a socket. */
function kindProblem(stats: Stats, descriptor: number): string | null {
  if (stats.isDirectory()) return 'is a directory';
  return descriptor === STANDARD_INPUT || stats.isFile() || stats.isFIFO() ? null : 'is a device';
}

function sizeProblem(bytes: number, maxBytes: number): string | null {
  if (bytes <= maxBytes) return null;
  return `has more than the ${maxBytes < 1_000_000 ? `${maxBytes / 1_000} kB` : `${maxBytes / 1_000_000} MB`} that are read`;
}

function readAll(descriptor: number, maxBytes: number): InputFile {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const chunks: Buffer[] = [];
  let length = 0;
  for (let bytesRead = readChunk(descriptor, buffer); bytesRead > 0; bytesRead = readChunk(descriptor, buffer)) {
    chunks.push(Buffer.from(buffer.subarray(0, bytesRead)));
    length += bytesRead;
    const reason = sizeProblem(length, maxBytes);
    if (reason !== null) return { kind: 'refused', reason };
  }
  return { kind: 'read', bytes: Buffer.concat(chunks) };
}

/** Reads bytes into `buffer`. @returns the number of bytes; 0 at the end of the file */
function readChunk(descriptor: number, buffer: Buffer): number {
  for (;;) {
    try {
      return readSync(descriptor, buffer);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EOF') return 0; // the end, on Windows
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS); // non-blocking standard input has no bytes yet
    }
  }
}
