import { closeSync, constants, fchmodSync, fchownSync, mkdirSync, openSync } from 'node:fs';

/** Makes a folder, or takes one over, so that only this process's account may change what is in it. @throws Error if it is a link. */
export function ownFolder(path: string, mode: number): void {
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
