import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The state of the sources that a release is made of. */
export interface Checkout {
  version: string;
  commit: string;
  /** The commit's time, since 1970: the only time in what is built. */
  seconds: number;
}

export function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trimEnd();
}

/** @throws Error while something is not committed: what is released is a commit */
export function assertClean(): void {
  const changed = git('status', '--porcelain');
  if (changed !== '') throw new Error(`commit or remove first what git sees:\n${changed}`);
}

/** The commit that is checked out. @throws Error where it is not clean, or not the tag of the version in package.json */
export function releasedCheckout(): Checkout {
  assertClean();
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const tags = git('tag', '--points-at', 'HEAD').split('\n');
  if (!tags.includes(`v${version}`))
    throw new Error(`check out the tag v${version}: what is released has the version that package.json names`);
  return { version, commit: git('rev-parse', 'HEAD'), seconds: Number(git('show', '-s', '--format=%ct', 'HEAD')) };
}
