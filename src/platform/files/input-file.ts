import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { codeOf, reasonOf } from './plain-file.js';

/** Its bytes, or why it is not read. */
export type InputFile = { kind: 'read'; bytes: Buffer } | { kind: 'refused'; reason: string };

interface Reading {
  /** More is refused. */
  maxBytes: number;
  /** Seconds for which nothing has come out of a pipe; every other one is reported. */
  waiting?: (seconds: number) => void;
  /** How long a pipe is given for somebody to write to it. */
  writerMs?: number;
}

const STANDARD_INPUT = 0;
const CHUNK_BYTES = 1_048_576;
const WRITER_MS = 5_000;
const POLL_MS = 20;
const REPORT_EVERY_SECONDS = 2;

/**
 * Reads a file that somebody has named, whatever it is: a pipe without a writer is given up, a device or a socket never begun, and an
 * endless one ended by the limit. Synchronous: a command has nothing else to do.
 * @param file a path, or 0 for standard input
 */
export function readInputFile(file: string | typeof STANDARD_INPUT, reading: Reading): InputFile {
  let descriptor: number;
  try {
    // Without O_NONBLOCK a pipe without a writer blocks the process.
    descriptor = file === STANDARD_INPUT ? file : openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    return { kind: 'refused', reason: codeOf(error) === 'ENXIO' ? 'is a socket or a device' : reasonOf(error) };
  }
  try {
    const status = fstatSync(descriptor);
    const reason = kindProblem(status, descriptor) ?? sizeProblem(status.size, reading.maxBytes);
    return reason === null ? readWhole(descriptor, status.isFIFO(), reading) : { kind: 'refused', reason };
  } catch (error) {
    return { kind: 'refused', reason: reasonOf(error) };
  } finally {
    if (descriptor !== STANDARD_INPUT) closeSync(descriptor);
  }
}

/** Standard input may be a terminal or a socket. */
function kindProblem(status: Stats, descriptor: number): string | null {
  if (status.isDirectory()) return 'is a directory';
  return descriptor === STANDARD_INPUT || status.isFile() || status.isFIFO() ? null : 'is a device';
}

function sizeProblem(bytes: number, most: number): string | null {
  if (bytes <= most) return null;
  return `has more than the ${most < 1_000_000 ? `${most / 1_000} kB` : `${most / 1_000_000} MB`} that are read`;
}

function readWhole(descriptor: number, isPipe: boolean, reading: Reading): InputFile {
  const { maxBytes, waiting = () => undefined, writerMs = WRITER_MS } = reading;
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const chunks: Buffer[] = [];
  let length = 0;
  let silence = new Silence(waiting);
  let hadWriter = descriptor === STANDARD_INPUT || !isPipe;
  for (;;) {
    const chunk = readChunk(descriptor, buffer);
    if (chunk === 'none-yet') {
      hadWriter = true;
      silence.wait();
    } else if (chunk.length > 0) {
      chunks.push(chunk);
      length += chunk.length;
      hadWriter = true;
      silence = new Silence(waiting);
      const reason = sizeProblem(length, maxBytes);
      if (reason !== null) return { kind: 'refused', reason };
    } else if (hadWriter) {
      return { kind: 'read', bytes: Buffer.concat(chunks) };
    } else if (silence.milliseconds < writerMs) {
      silence.wait(); // the writer may be about to open it
    } else {
      return { kind: 'refused', reason: 'is a pipe that nobody writes to' };
    }
  }
}

/** A copy of the bytes that were read: a pipe may give fewer than the buffer holds. Empty: the end, or a pipe that has no writer at the time. */
function readChunk(descriptor: number, buffer: Buffer): Buffer | 'none-yet' {
  try {
    return Buffer.from(buffer.subarray(0, readSync(descriptor, buffer)));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EAGAIN') return 'none-yet';
    if (code === 'EOF') return Buffer.alloc(0); // Windows
    throw error;
  }
}

class Silence {
  private readonly begun = performance.now();
  private reported = 0;

  constructor(private readonly report: (seconds: number) => void) {}

  get milliseconds(): number {
    return performance.now() - this.begun;
  }

  wait(): void {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
    const seconds = Math.floor(this.milliseconds / 1_000);
    if (seconds < this.reported + REPORT_EVERY_SECONDS) return;
    this.reported = seconds;
    this.report(seconds);
  }
}
