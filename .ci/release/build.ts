import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { parse } from 'yaml';

import type { Processes } from '../../test/stack/running/processes.js';
import { tarOf } from './archive.js';
import { layoutOf, LIBRARIES, PROVENANCE } from './artifacts.js';
import { type Checkout, releasedCheckout } from './checkout.js';
import { writeImage } from './image.js';
import { type Descriptor, sha256, writeLayout } from './oci-layout.js';
import { provenanceOf } from './provenance.js';
import { imageSbom } from './sbom.js';

export interface BuildOptions {
  out: string;
  /** An OCI layout with the image's base. */
  base: string;
  /** Where the repository is. */
  source: string;
  /** Who runs this, as a URI. */
  builder: string;
  /** Where the image's assembled files are kept between runs. */
  cache: string;
}

/** Makes everything that a release has, unsigned, out of the tag that is checked out. @param report a line for each step */
export async function build(
  processes: Processes,
  options: BuildOptions,
  report: (line: string) => void,
): Promise<void> {
  const { out } = options;
  const checkout = releasedCheckout();
  mkdirSync(out, { recursive: true });
  if (readdirSync(out).length > 0) throw new Error(`${out} is not empty`);

  report('the npm packages');
  rmSync('dist', { recursive: true, force: true }); // once for all of them, out of nothing
  for (const folder of ['.', ...LIBRARIES])
    execFileSync('npm', ['pack', folder, '--silent', '--pack-destination', out], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  report('the chart');
  const chart = writeChart(checkout, out);
  report('the image (minutes, the first time)');
  const image = await writeImage(processes, checkout, { ...options, layout: layoutOf(out, 'image') });
  report('its bill of materials');
  writeFileSync(
    join(out, `grantline-${checkout.version}.cdx.json`),
    imageSbom(join(image.root, 'app'), checkout, image.base.digest),
  );
  report('the provenance');
  const files = readdirSync(out, { withFileTypes: true }).filter((entry) => entry.isFile());
  const subjects = [
    ...files.map(({ name }) => ({ name, digest: { sha256: sha256(readFileSync(join(out, name))) } })),
    ...Object.entries({ chart, image: image.descriptor }).map(([name, { digest }]) => ({
      name: `oci/${name}`,
      digest: { sha256: digest.replace('sha256:', '') },
    })),
  ];
  const provenance = provenanceOf(checkout, subjects, { ...options, base: image.base.digest });
  writeFileSync(join(out, PROVENANCE), `${JSON.stringify(provenance, null, 2)}\n`);
}

/** As an archive, and in the form in which Helm keeps charts in registries (https://helm.sh/docs/topics/registries). */
function writeChart({ version, seconds, commit }: Checkout, out: string): Descriptor {
  const bytes = gzipSync(tarOf('helm', chartFiles(), seconds));
  writeFileSync(join(out, `grantline-chart-${version}.tgz`), bytes);
  const chart: unknown = parse(readFileSync('helm/grantline/Chart.yaml', 'utf8'));
  return writeLayout(layoutOf(out, 'chart'), {
    config: {
      mediaType: 'application/vnd.cncf.helm.config.v1+json',
      bytes: Buffer.from(JSON.stringify(chart)),
    },
    layers: [{ mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip', bytes }],
    annotations: {
      'org.opencontainers.image.title': 'grantline',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.revision': commit,
    },
  });
}

/** What `helm package` takes, which reads .helmignore; Chart.yaml first, as it writes it. */
function chartFiles(): string[] {
  const tracked = execFileSync('git', ['ls-files', '-z', 'grantline'], { cwd: 'helm', encoding: 'utf8' }).split('\0');
  return tracked.filter((file) => file !== '' && !/^grantline\/ci\/|[.]gotmpl$/.test(file));
}
