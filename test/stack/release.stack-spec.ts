import { execFile, spawn } from 'node:child_process';
import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { LIBRARIES } from '../../.ci/release/artifacts.js';
import { layerOf, tarOf } from '../../.ci/release/archive.js';
import { readLayout, writeLayout } from '../../.ci/release/oci-layout.js';
import { packagesBelow } from '../../.ci/release/sbom.js';
import { cacheFolder } from './parts/cache.js';
import { installClusterTools } from './parts/cluster-tools.js';
import { installCrane } from './parts/crane.js';
import { assembleImage, installImageNode } from './parts/image.js';
import { javaHome } from './parts/java.js';
import { commitAll, committedCopy } from './running/committed-copy.js';
import { imageSettings, inImage } from './running/container.js';
import { isLanding } from '../support/landing.js';
import { freePort } from '../support/service/free-port.js';
import { Processes } from './running/processes.js';
import { until } from './running/until.js';

const DEADLINE = 900_000;
const VERSION = (JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version;

describe('a release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantline-release-'));
  const checkout = join(folder, 'checkout');
  const release = join(folder, 'release');
  const [key, publicKey] = [join(folder, 'release.key'), join(folder, 'release.pub')];
  const processes = new Processes(folder);
  let tools: { crane: string; helm: string };
  let root: string;

  const run = async (command: string, args: string[], cwd = checkout): Promise<string> => {
    const PATH = `${tools.crane}:${process.env['PATH'] ?? ''}`;
    const env = { ...process.env, GRANTLINE_STACK_CACHE: cacheFolder(process.env), PATH, HOME: folder };
    return (await promisify(execFile)(command, args, { cwd, env, maxBuffer: 2 ** 28 })).stdout;
  };
  const script = (...args: string[]) => run(process.execPath, ['--import', 'tsx', '.ci/release/main.ts', ...args]);
  const verify = (publicPart = publicKey): Promise<string> =>
    script('verify', release, '--key', publicPart).catch((error: unknown) => (error as { stdout: string }).stdout);
  const newKey = async (file: string, publicFile: string): Promise<void> => {
    await run('openssl', ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', file], folder);
    await run('openssl', ['pkey', '-in', file, '-pubout', '-out', publicFile], folder);
  };

  beforeAll(async () => {
    const cache = cacheFolder(process.env);
    const clusterTools = await installClusterTools(processes, cache, javaHome(process.env));
    tools = { crane: await installCrane(processes, cache), helm: clusterTools };
    root = await assembleImage(processes, cache, await installImageNode(processes, cache));
    await newKey(key, publicKey);
    committedCopy(checkout, `v${VERSION}`);
    // Where no base can be pulled, the libraries of this machine stand in for it.
    const libraries = readdirSync(root).filter((name) => !['app', 'tmp', 'usr'].includes(name));
    const { diffId, ...layer } = layerOf(tarOf(root, libraries, 0));
    const config = {
      config: { Env: ['SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt'] },
      rootfs: { type: 'layers', diff_ids: [diffId] },
    };
    writeLayout(join(folder, 'base'), {
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', bytes: Buffer.from(JSON.stringify(config)) },
      layers: [layer],
    });
    const where = ['--source', 'git+https://example.org/grantline.git', '--builder', 'https://example.org/builder'];
    await script('build', release, '--base', join(folder, 'base'), ...where);
    await script('sign', release, '--key', key);
  }, DEADLINE);
  afterAll(async () => {
    await processes.stopAll();
    rmSync(folder, { recursive: true });
  });

  it('is what was signed, by its own check and by openssl and sha256sum alone', async () => {
    expect(await verify()).toBe('verified\n');

    const signature = Buffer.from(readFileSync(join(release, 'SHA256SUMS.sig'), 'utf8'), 'base64');
    writeFileSync(join(folder, 'signature'), signature);
    const dgst = ['dgst', '-sha256', '-verify', publicKey, '-signature', join(folder, 'signature'), 'SHA256SUMS'];
    expect(await run('openssl', dgst, release)).toContain('Verified OK');
    await run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], release);
  });

  it.each<[string, () => () => void, RegExp]>([
    ['a changed package', () => changed(`grantline-${VERSION}.tgz`), /not those in SHA256SUMS: grantline-/],
    ['an added file', () => changed('more.txt'), /not those in SHA256SUMS: more\.txt/],
    ['a changed layer of the image', () => changed(layerFile()), /the image are not those .*has other content/],
    [
      'a provenance of something else',
      () => changed('provenance.intoto.jsonl', foreignSubject),
      /not about these files/,
    ],
    ['sums that fit changed files', () => changed('SHA256SUMS'), /SHA256SUMS is not signed with this key/],
  ])('is refused with %s', async (_what, change, expected) => {
    const undo = change();
    const found = await verify();
    undo();
    expect(found).toMatch(expected);
  });

  it('is refused by another key', async () => {
    const [otherKey, other] = [join(folder, 'other.key'), join(folder, 'other.pub')];
    await newKey(otherKey, other);

    const problems = (await verify(other)).trimEnd().split('\n');

    expect(problems).toHaveLength(4);
    expect(problems.join()).toContain('SHA256SUMS is not signed with this key');
  });

  it('lists every package of the image, Node and the base, and packs what was built', async () => {
    const bom = JSON.parse(readFileSync(join(release, `grantline-${VERSION}.cdx.json`), 'utf8')) as {
      bomFormat: string;
      components: { 'bom-ref': string; version: string }[];
    };
    const listed = bom.components.map((component) => component['bom-ref']);

    expect(bom.bomFormat).toBe('CycloneDX');
    expect(listed).toEqual(expect.arrayContaining([...packagesBelow(join(root, 'app/node_modules')), 'node', 'base']));
    const packed = await run('tar', ['-tzf', join(release, `grantline-${VERSION}.tgz`)]);
    expect(packed).toContain('package/dist/main.js\n');
    expect(packed).not.toMatch(/[.]map$/m);
  });

  // Twice as long: at a landing it is built once.
  if (!isLanding)
    it('is built again with the same digests', async () => {
      const again = join(folder, 'again');
      const where = ['--source', 'git+https://example.org/grantline.git', '--builder', 'https://example.org/builder'];
      await script('build', again, '--base', join(folder, 'base'), ...where);

      for (const name of ['image', 'chart'])
        expect(readLayout(join(again, 'oci', name)).descriptor).toEqual(
          readLayout(join(release, 'oci', name)).descriptor,
        );
      for (const file of readdirSync(again).filter((name) => name.startsWith('grantline-')))
        expect(readFileSync(join(again, file)).equals(readFileSync(join(release, file)))).toBe(true);
    });

  it('is pushed once: Helm installs the chart from there, and the image runs', async () => {
    const port = await freePort();
    const registry = spawn(join(tools.crane, 'crane'), ['registry', 'serve', '--address', `127.0.0.1:${port}`]);
    try {
      const host = `127.0.0.1:${port}/data`;
      await until('the registry answers', 30_000, async () =>
        (await fetch(`http://127.0.0.1:${port}/v2/`).catch(() => null))?.ok === true ? true : undefined,
      );
      const references = (await script('push', release, host, '--key', publicKey)).trim().split('\n');
      expect(references.map((reference) => reference.split('@')[0])).toEqual([
        `${host}/grantline`,
        `${host}/charts/grantline`,
      ]);

      for (const helm of ['helm', 'helm3']) {
        const chart = ['template', 'g', `oci://${host}/charts/grantline`, '--version', VERSION, '--plain-http'];
        const values = ['--values', join(checkout, 'helm/grantline/ci/default-values.yaml')];
        const rendered = await run(join(tools.helm, helm), [...chart, ...values]);
        expect(rendered).toContain(`helm.sh/chart: grantline-${VERSION}\n`);
      }

      const pulled = join(folder, 'pulled');
      mkdirSync(pulled);
      await run('crane', ['export', references[0] ?? '', join(folder, 'pulled.tar')]);
      await run('tar', ['-xf', join(folder, 'pulled.tar'), '-C', pulled]);
      for (const name of ['tmp', 'proc']) mkdirSync(join(pulled, name), { recursive: true });
      const settings = imageSettings();
      const program = inImage(pulled, settings, [...settings.entryPoint, '--version']);
      expect((await promisify(execFile)(program.command, program.args, { env: program.env })).stdout).toBe(
        `${VERSION}\n`,
      );
    } finally {
      registry.kill('SIGKILL');
    }
  });

  it('begins with a cut: the changelog, every version, a commit and its tag, after the upgrade notes', async () => {
    // The notes of the very next version may stand already.
    const guide = readFileSync(join(checkout, 'docs/releases.md'), 'utf8');
    const [major = '0', minor = '0'] = VERSION.split('.');
    const later = [1, 2].map((steps) => `${major}.${Number(minor) + steps}.0`);
    const next = later.find((version) => !guide.includes(`### ${version}\n`)) ?? '';
    await expect(script('cut', next)).rejects.toThrow(`under "### ${next}" in docs/releases.md`);
    appendFileSync(join(checkout, 'docs/releases.md'), `\n### ${next}\n\nNothing to do.\n`);
    const log = readFileSync(join(checkout, 'CHANGELOG.md'), 'utf8');
    writeFileSync(join(checkout, 'CHANGELOG.md'), log.replace('## Unreleased\n', '## Unreleased\n\n- A new thing.\n'));
    commitAll(checkout, 'notes');

    await script('cut', next);

    expect(await run('git', ['status', '--porcelain'])).toBe('');
    expect(await run('git', ['tag', '--points-at', 'HEAD'])).toBe(`v${next}\n`);
    expect(await run('git', ['tag', '-l', '--format=%(contents)', `v${next}`])).toContain('- A new thing.');
    for (const file of [
      'package.json',
      'package-lock.json',
      ...LIBRARIES.map((folder) => `${folder}/package.json`),
      'helm/grantline/Chart.yaml',
      'docs/install.md',
      'CHANGELOG.md',
    ])
      expect(readFileSync(join(checkout, file), 'utf8')).toContain(next);
    const left = await run('git', [
      'grep',
      '-lF',
      VERSION,
      '--',
      'package.json',
      'helm/grantline/Chart.yaml',
      'docs/install.md',
    ]).catch(() => '');
    expect(left).toBe('');
  });

  const layerFile = (): string => {
    const [largest] = [...readLayout(join(release, 'oci/image')).manifest.layers].sort((a, b) => b.size - a.size);
    return `oci/image/blobs/${(largest?.digest ?? '').replace(':', '/')}`;
  };

  /** Changes or adds a file. @returns what takes it back */
  function changed(
    name: string,
    change = (text: Buffer): Buffer => Buffer.concat([text, Buffer.from('\n')]),
  ): () => void {
    const file = join(release, name);
    const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
    const before = isThere ? readFileSync(file) : Buffer.alloc(0);
    writeFileSync(file, change(before));
    return () => (isThere ? writeFileSync(file, before) : rmSync(file));
  }
});

/** The envelope with one digest of its statement replaced. */
function foreignSubject(envelope: Buffer): Buffer {
  const parsed = JSON.parse(envelope.toString()) as { payload: string };
  const statement = Buffer.from(parsed.payload, 'base64').toString();
  const payload = statement.replace(/"sha256":"[0-9a-f]{64}"/, `"sha256":"${'0'.repeat(64)}"`);
  return Buffer.from(JSON.stringify({ ...parsed, payload: Buffer.from(payload).toString('base64') }));
}
