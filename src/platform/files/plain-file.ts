import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  mkdirSync,
  openSync,
  fstatSync,
  readSync,
  type Stats,
} from 'node:fs';

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Error codes when the opened path is a symbolic link (ELOOP) or a pipe without a reader (ENXIO). */
const NOT_PLAIN_CODES = new Set<string | null>(['ELOOP', 'ENXIO']);

/** The most bytes that are read of a file. The rest of a larger file is ignored. */
const MAX_BYTES = 65_536;

/** Reads a small file of an owner, by default this process's account. @throws Error for a link, a pipe or another owner's file. */
export function readPlainFile(path: string, owner = process.getuid?.()): string {
  const descriptor = openPlainFile(path, O_RDONLY, ({ uid }) => owner === undefined || uid === owner);
  try {
    const content = Buffer.alloc(MAX_BYTES);
    return content.toString('utf8', 0, readSync(descriptor, content));
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a log for appending. @throws Error if it is a symbolic link, has several hard links, or belongs to another account. */
export function openLog(path: string): number {
  const owner = process.getuid?.();
  const isOwnFile = ({ uid, nlink }: Stats): boolean => nlink === 1 && (owner === undefined || uid === owner);
  return openPlainFile(path, O_WRONLY | O_APPEND | O_CREAT, isOwnFile);
}

function openPlainFile(path: string, flags: number, isTrustedFile: (stats: Stats) => boolean): number {
  const descriptor = openWithoutLinks(path, flags);
  const stats = fstatSync(descriptor);
  if (stats.isFile() && isTrustedFile(stats)) return descriptor;
  closeSync(descriptor);
  throw notPlainError(path);
}

/** Opens a file without following links. O_NONBLOCK keeps a pipe without a writer from blocking the process. */
function openWithoutLinks(path: string, flags: number): number {
  try {
    return openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    throw NOT_PLAIN_CODES.has(codeOf(error)) ? notPlainError(path, error) : error;
  }
}

function notPlainError(path: string, cause?: unknown): Error {
  return new Error(`${path} is a link, or is not a file of the account that it must belong to: remove it`, { cause });
}

/** The code of an error of the operating system, such as `ENOENT`; null for errors without a code. */
export function codeOf(failure: unknown): string | null {
  return typeof failure === 'object' && failure !== null && 'code' in failure ? String(failure.code) : null;
}

/** The message of an error, such as `ENOSPC: no space left on device`, without the system call and its paths. */
export function reasonOf(failure: unknown): string {
  const message = failure instanceof Error ? failure.message : String(failure);
  return codeOf(failure) === null ? message : message.replace(/, [a-z]+(?: '.*)?$/s, '');
}

/** Creates a folder, or corrects its permissions, so that only this process's account may change its content. @throws Error for a link. */
export function ensureOwnFolder(path: string, mode: number): void {
  mkdirSync(path, { recursive: true, mode });
  const { getuid, getgid } = process;
  if (getuid === undefined || getgid === undefined) return;
  const descriptor = openSync(path, constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    fchownSync(descriptor, getuid(), getgid());
    fchmodSync(descriptor, mode);
  } finally {
    closeSync(descriptor);
  }
}
