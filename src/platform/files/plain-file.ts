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

/** Error codes of opening a link, and a pipe without a reader. */
const NOT_PLAIN = new Set<string | null>(['ELOOP', 'ENXIO']);

/** The most bytes that are read, whatever the file's size. */
const MAX_BYTES = 65_536;

/** Reads a small file of an owner, by default this process's account. @throws Error for a link, a pipe or another owner's file. */
export function readPlainFile(path: string, owner = process.getuid?.()): string {
  const file = openPlain(path, O_RDONLY, ({ uid }) => owner === undefined || uid === owner);
  try {
    const content = Buffer.alloc(MAX_BYTES);
    return content.toString('utf8', 0, readSync(file, content));
  } finally {
    closeSync(file);
  }
}

/** Opens a log for appending. @throws Error if it is a link, has a second name, or belongs to another account. */
export function openLog(path: string): number {
  const owner = process.getuid?.();
  return openPlain(
    path,
    O_WRONLY | O_APPEND | O_CREAT,
    ({ uid, nlink }) => nlink === 1 && (owner === undefined || uid === owner),
  );
}

function openPlain(path: string, flags: number, isTrusted: (found: Stats) => boolean): number {
  const file = openUnfollowed(path, flags);
  const found = fstatSync(file);
  if (found.isFile() && isTrusted(found)) return file;
  closeSync(file);
  throw notPlain(path);
}

/** Opens a file without following links. Without O_NONBLOCK a pipe without a writer would block the process. */
function openUnfollowed(path: string, flags: number): number {
  try {
    return openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o600);
  } catch (error) {
    throw NOT_PLAIN.has(codeOf(error)) ? notPlain(path, error) : error;
  }
}

function notPlain(path: string, cause?: unknown): Error {
  return new Error(`${path} is a link, or is not a file of the account that it must belong to: remove it`, { cause });
}

/** The operating system's code of an error (`ENOENT`); null for other errors. */
export function codeOf(failure: unknown): string | null {
  return typeof failure === 'object' && failure !== null && 'code' in failure ? String(failure.code) : null;
}

/** The operating system's reason (`ENOSPC: no space left on device`), without the call and its paths. */
export function reasonOf(failure: unknown): string {
  const message = failure instanceof Error ? failure.message : String(failure);
  return codeOf(failure) === null ? message : message.replace(/, [a-z]+(?: '.*)?$/s, '');
}

/** Creates a folder, or sets an existing one's permissions, so that only this process's account may change its content. @throws Error for a link. */
export function ensureOwnFolder(path: string, mode: number): void {
  mkdirSync(path, { recursive: true, mode });
  const { getuid, getgid } = process;
  if (getuid === undefined || getgid === undefined) return;
  const folder = openSync(path, constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    fchownSync(folder, getuid(), getgid());
    fchmodSync(folder, mode);
  } finally {
    closeSync(folder);
  }
}
