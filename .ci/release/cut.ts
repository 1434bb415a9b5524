import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

import { LIBRARIES } from './artifacts.js';
import { cutChangelog, follows, sectionOf } from './changelog.js';
import { assertClean, git } from './checkout.js';

/** Sets the version everywhere, commits it and makes the annotated tag. Nothing is pushed. */
export function cut(version: string): void {
  assertClean();
  const { version: former } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  if (!follows(version, former)) throw new Error(`${version} does not follow ${former}: MAJOR.MINOR.PATCH, greater`);
  if ((sectionOf(readFileSync('docs/releases.md', 'utf8'), `### ${version}`) ?? '') === '')
    throw new Error(`write and commit first what an upgrade needs, under "### ${version}" in docs/releases.md`);
  const changelog = cutChangelog(readFileSync('CHANGELOG.md', 'utf8'), version, git('show', '-s', '--format=%cs'));

  writeFileSync('CHANGELOG.md', changelog);
  execFileSync('npm', ['version', '--no-git-tag-version', '--ignore-scripts', version], { stdio: 'ignore' });
  for (const folder of LIBRARIES) edit(`${folder}/package.json`, /^ {2}"version": .*$/m, `  "version": "${version}",`);
  edit('helm/grantline/Chart.yaml', /^((?:appV|v)ersion): .*$/gm, `$1: ${version}`);
  edit('docs/install.md', new RegExp(`(/grantline:)${former.replaceAll('.', '\\.')}\\b`, 'g'), `$1${version}`);
  git('commit', '--quiet', '--all', '--message', `release: ${version}`);
  const notes = sectionOf(changelog, `## ${version}`) ?? '';
  // Headings are lines that begin with #: no comments.
  git('tag', '--annotate', '--cleanup=whitespace', '--message', `Grantline ${version}\n\n${notes}`, `v${version}`);
}

function edit(file: string, pattern: RegExp, replacement: string): void {
  const text = readFileSync(file, 'utf8');
  const edited = text.replace(pattern, replacement);
  if (edited === text) throw new Error(`${file} names no version`);
  writeFileSync(file, edited);
}
