import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Command } from 'commander';

import { cacheFolder } from '../../test/stack/parts/cache.js';
import { Processes } from '../../test/stack/running/processes.js';
import { build, type BuildOptions } from './build.js';
import { cut } from './cut.js';
import { push } from './push.js';
import { signRelease } from './sign.js';
import { problemsOf } from './verify.js';

const program = new Command('npm run release --').description('from a commit to a version: docs/releases.md');

program
  .command('cut <version>')
  .description('set the version, commit it and make its tag')
  .action((version: string) => {
    cut(version);
    console.log(`git push --follow-tags   # publishes v${version}`);
  });
program
  .command('build <folder>')
  .description('make package, chart, image, bill of materials and provenance of the tag that is checked out')
  .requiredOption('--base <layout>', "the image's base, as an OCI layout")
  .requiredOption('--source <uri>', 'where the repository is: git+https://…')
  .requiredOption('--builder <uri>', 'who builds')
  .action(async (out: string, options: Pick<BuildOptions, 'base' | 'source' | 'builder'>) => {
    const logs = mkdtempSync(join(tmpdir(), 'grantline-release-'));
    const processes = new Processes(logs);
    try {
      await build(processes, { ...options, out, cache: cacheFolder(process.env) }, (line) => console.log(line));
    } finally {
      await processes.stopAll();
    }
    rmSync(logs, { recursive: true });
  });
program
  .command('sign <folder>')
  .requiredOption('--key <file>', 'private key on P-256, PEM')
  .action((release: string, { key }: { key: string }) => signRelease(release, key));
program
  .command('verify <folder>')
  .requiredOption('--key <file>', 'public key, PEM')
  .action((release: string, { key }: { key: string }) => {
    const problems = problemsOf(release, key);
    console.log(problems.length === 0 ? 'verified' : problems.join('\n'));
    process.exitCode = problems.length === 0 ? 0 : 1;
  });
program
  .command('push <folder> <registry>')
  .description('verify, then push image, chart and signatures; prints them by digest')
  .requiredOption('--key <file>', 'public key, PEM')
  .action((release: string, registry: string, { key }: { key: string }) => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    for (const reference of push(release, key, { registry, version })) console.log(reference);
  });

try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
