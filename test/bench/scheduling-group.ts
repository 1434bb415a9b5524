import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where control groups of the processor are made: version 1, version 2. */
const ROOTS = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup'];
const CONTROLS = ['cpu.shares', 'cpu.weight'];

/**
 * Puts this process, and whatever it starts from now on, into one scheduling group, as a container or a systemd service is.
 * A Linux that groups by session instead (autogroup, for desktops: sched(7)) makes a group of every PostgreSQL backend, and
 * nice counts only within a group: backends then wait for tenths of a second behind threads that are nicer than they are.
 * @returns what leaves it again; null: not allowed here.
 */
export function joinSchedulingGroup(): (() => void) | null {
  for (const root of ROOTS) {
    const group = join(root, `grantline-bench-${process.pid}`);
    try {
      mkdirSync(group);
    } catch {
      continue; // no such version here, or not ours to change
    }
    if (CONTROLS.some((control) => existsSync(join(group, control)))) {
      move(group);
      return () => {
        move(root);
        try {
          rmdirSync(group);
        } catch {
          // A process that a failed part did not end is in it still: the failure is what is to be seen.
        }
      };
    }
    rmdirSync(group);
  }
  return null;
}

function move(group: string): void {
  writeFileSync(join(group, 'cgroup.procs'), String(process.pid));
}
