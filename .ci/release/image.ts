import { assembleImage, IMAGE_NODE, installImageNode } from '../../test/stack/parts/image.js';
import { imageSettings } from '../../test/stack/running/container.js';
import type { Processes } from '../../test/stack/running/processes.js';
import { layerOf, tarOf } from './archive.js';
import type { Checkout } from './checkout.js';
import { type Descriptor, type Manifest, readLayout, writeLayout } from './oci-layout.js';

const PLATFORM = { architecture: 'amd64', os: 'linux' };

interface ImageConfig {
  config?: { Env?: string[]; Labels?: Record<string, string> };
  rootfs: { type: 'layers'; diff_ids: string[] };
  history?: object[];
}

export interface BuiltImage {
  descriptor: Descriptor;
  /** The file system in which the layers were found: `app`, and Node's program. */
  root: string;
  base: Manifest & { digest: string };
}

/**
 * The image of the Dockerfile without Docker: the layers of a base, Node's program, and what `image/assemble.sh` makes, with the
 * settings of the Dockerfile's last stage. The same commit and base give the same digest.
 * @param base an OCI layout, as `crane pull --platform linux/amd64 --format oci` writes it
 */
export async function writeImage(
  processes: Processes,
  checkout: Checkout,
  { cache, base, layout }: { cache: string; base: string; layout: string },
): Promise<BuiltImage> {
  const root = await assembleImage(processes, cache, await installImageNode(processes, cache));
  const below = readLayout(base);
  const {
    config = {},
    rootfs,
    history = [],
  } = JSON.parse(below.bytesOf(below.manifest.config).toString()) as ImageConfig;
  const ours = [
    { member: 'usr/local/bin/node', createdBy: `Node ${IMAGE_NODE.version}` },
    { member: 'app', createdBy: 'image/assemble.sh' },
  ].map(({ member, createdBy }) => ({ createdBy, ...layerOf(tarOf(root, [member], checkout.seconds)) }));
  const settings = imageSettings();
  const created = new Date(checkout.seconds * 1000).toISOString();
  const image = {
    created,
    ...PLATFORM,
    config: {
      Env: [...(config.Env ?? []), ...Object.entries(settings.env).map(([name, value]) => `${name}=${value}`)],
      User: settings.user,
      WorkingDir: settings.folder,
      Entrypoint: settings.entryPoint,
      Cmd: settings.command,
      ExposedPorts: Object.fromEntries(settings.ports.map((port) => [`${port}/tcp`, {}])),
      Healthcheck: { Test: ['CMD', ...settings.healthCheck] },
      Labels: {
        ...settings.labels,
        'org.opencontainers.image.revision': checkout.commit,
        'org.opencontainers.image.version': checkout.version,
      },
    },
    rootfs: { type: 'layers', diff_ids: [...rootfs.diff_ids, ...ours.map(({ diffId }) => diffId)] },
    history: [...history, ...ours.map(({ createdBy }) => ({ created, created_by: createdBy }))],
  };
  const descriptor = writeLayout(
    layout,
    {
      config: { mediaType: below.manifest.config.mediaType, bytes: Buffer.from(JSON.stringify(image)) },
      layers: [
        ...below.manifest.layers.map((layer) => ({ mediaType: layer.mediaType, bytes: below.bytesOf(layer) })),
        ...ours.map(({ mediaType, bytes }) => ({ mediaType, bytes })),
      ],
    },
    PLATFORM,
  );
  return { descriptor, root, base: { ...below.manifest, digest: below.descriptor.digest } };
}
