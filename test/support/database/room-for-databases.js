import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Where Linux keeps files in memory; a container has 64 MiB there, unless it is given more. */
const IN_MEMORY = '/dev/shm';
/** What `statfs` says of such a file system (Linux's `TMPFS_MAGIC`). */
const TMPFS = 0x01021994;
const ENOUGH_BYTES = 4 * 2 ** 30;

/**
 * The folder in which databases of tests lie: in memory where there is room. On a disk, each of the hundreds of copies makes and
 * removes three hundred files, and ext4 looks for the place of a new one among all that were removed in the last seconds.
 * @returns {string}
 */
export function roomForDatabases() {
  try {
    const { type, bavail, bsize } = statfsSync(IN_MEMORY);
    return type === TMPFS && bavail * bsize >= ENOUGH_BYTES ? IN_MEMORY : tmpdir();
  } catch {
    return tmpdir(); // another system
  }
}
