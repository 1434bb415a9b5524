import { execFileSync } from 'node:child_process';
import { appendFileSync, cpSync, lstatSync, mkdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..', '..', '..');

/** A repository of its own with the sources as git sees them here, committed or not, nothing built, at a commit with that tag. */
export function committedCopy(folder: string, tag: string): void {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder });
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
  for (const file of listed.toString().split('\0')) {
    if (file === '' || lstatSync(join(ROOT, file), { throwIfNoEntry: false }) === undefined) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  git('init', '--quiet');
  git('config', 'user.name', 'A Founder');
  git('config', 'user.email', 'founder@example.org');
  appendFileSync(join(folder, '.git/info/exclude'), '/node_modules\n');
  commitAll(folder, 'all');
  git('tag', tag);
}

export function commitAll(folder: string, subject: string): void {
  execFileSync('git', ['add', '--all'], { cwd: folder });
  execFileSync('git', ['commit', '--quiet', '--message', subject], { cwd: folder });
}
