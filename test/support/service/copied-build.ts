import { cpSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Puts the built service into a folder, with its packages, and what else of the checkout is named. */
export function copyBuild(folder: string, ...others: readonly string[]): void {
  for (const name of ['dist', 'migrations', 'package.json', ...others]) {
    // What no process reads is two files of three.
    const filter = (path: string): boolean => !/\.(map|d\.ts)$/.test(path);
    cpSync(resolve(name), join(folder, name), { recursive: true, filter });
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
}
