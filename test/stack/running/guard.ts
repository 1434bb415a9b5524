import { spawn } from 'node:child_process';

/**
 * Reads the numbers of process groups from its standard input until that closes, then ends those groups. Numbers of groups
 * that ended before are not taken back: they are not given out again within a run (4,194,304 numbers on Linux).
 */
const SCRIPT = `
groups=
while read -r group; do groups="$groups -$group"; done
[ -n "$groups" ] || exit 0
kill -s TERM -- $groups
sleep 10
kill -s KILL -- $groups
`;

/** Outlives this process, however that ends, and then stops what it had started. */
export interface Guard {
  watch(group: number): void;
  /** Nothing is left to be watched. */
  dismiss(): void;
}

export function startGuard(): Guard {
  const shell = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  // A pipe that breaks means that the guard was killed; nothing is lost but a second line of defence.
  shell.stdin.on('error', () => undefined);
  shell.unref();
  return {
    watch: (group) => shell.stdin.write(`${group}\n`),
    dismiss: () => shell.kill('SIGKILL'),
  };
}
