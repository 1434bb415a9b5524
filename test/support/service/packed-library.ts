import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

interface Manifest {
  name: string;
  version: string;
  engines: object;
  dependencies: Record<string, string>;
}

export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
}

/**
 * Packs what is built of a library, and installs it in an empty project. Nothing but its own dependencies can be found there:
 * neither the framework nor the database driver.
 * @param source the folder of its manifest
 */
export function installPacked(source: string, project: string): void {
  const staged = join(project, 'source');
  cpSync(source, staged, { recursive: true });
  execFileSync(process.execPath, ['.ci/library-package.mjs', 'fill', source, staged]);
  const pack = ['pack', staged, '--ignore-scripts', '--json', '--pack-destination', project];
  const [packed] = JSON.parse(execFileSync('npm', pack, { encoding: 'utf8' })) as [{ filename: string }];
  execFileSync('tar', ['-xzf', packed.filename], { cwd: project });
  rmSync(staged, { recursive: true });
  const { name, dependencies } = manifestOf(source);
  mkdirSync(join(project, 'node_modules'));
  renameSync(join(project, 'package'), join(project, 'node_modules', name));
  for (const dependency of Object.keys(dependencies)) linkInstalled(dependency, project);
}

/** A package of ours, to be found from that project. */
export function linkInstalled(name: string, project: string): void {
  mkdirSync(dirname(join(project, 'node_modules', name)), { recursive: true });
  symlinkSync(resolve('node_modules', name), join(project, 'node_modules', name));
}

/** The first block of code in that language in a library's README. */
export function exampleOf(source: string, language: string): string {
  const readme = readFileSync(join(source, 'README.md'), 'utf8');
  return new RegExp('```' + language + '\n(.*?)```', 's').exec(readme)?.[1] ?? '';
}
