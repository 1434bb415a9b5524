import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { folderOfClusters } from '../database/embedded-cluster.js';
import { copyBuild } from './copied-build.js';

/** A shell block of a document. */
export interface Block {
  commands: string;
  /** What is printed below it as its output. */
  output: string | null;
}

export function shellBlocks(text: string): Block[] {
  return [...text.matchAll(/```sh\n(.*?)```\n(?:\n```text\n(.*?)```)?/gs)].map(
    ([, commands = '', output = null]): Block => ({ commands, output }),
  );
}

/** Times differ from run to run. */
export const timeless = (text: string): string => text.replace(/\d+ ms/g, 'N ms');

/** A built checkout of its own, so that relative paths in documents are true. Its owner removes the folder. */
export class BuiltCheckout {
  readonly folder = folderOfClusters();

  constructor() {
    copyBuild(this.folder, 'bin', '.gitignore', '.oxfmtrc.jsonc', 'README.md', 'docs');
  }

  /** @returns standard output. @throws Error unless it ends with 0 */
  async run(command: string, args: readonly string[], environment: Record<string, string> = {}): Promise<string> {
    const env = { ...process.env, ...environment };
    return (await promisify(execFile)(command, args, { cwd: this.folder, env, maxBuffer: 2 ** 26 })).stdout;
  }

  /** Runs blocks in one shell. @returns the output of each */
  async runBlocks(commands: readonly string[], environment: Record<string, string> = {}): Promise<string[]> {
    const marker = '-- end of block --';
    const script = commands.map((each) => `${each}echo '${marker}'\n`).join('');
    return (await this.run('bash', ['-euo', 'pipefail', '-c', script], environment)).split(`${marker}\n`);
  }
}
