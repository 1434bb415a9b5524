import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const MANIFEST_TYPE = 'application/vnd.oci.image.manifest.v1+json';

export interface Blob {
  mediaType: string;
  bytes: Uint8Array;
  annotations?: Record<string, string>;
}

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  annotations?: Record<string, string>;
  platform?: { architecture: string; os: string };
}

export interface Manifest {
  schemaVersion: 2;
  mediaType: string;
  config: Descriptor;
  layers: Descriptor[];
  annotations?: Record<string, string>;
}

export interface Layout {
  descriptor: Descriptor;
  manifest: Manifest;
  /** @throws Error where the blob is absent or is not what its digest says */
  bytesOf: (descriptor: Descriptor) => Buffer;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * Writes one manifest with its blobs as an OCI image layout, which every registry client reads.
 * @returns the manifest's descriptor; its digest is the artifact's name in every registry
 */
export function writeLayout(
  folder: string,
  content: { config: Blob; layers: readonly Blob[]; annotations?: Record<string, string> },
  platform?: Descriptor['platform'],
): Descriptor {
  mkdirSync(join(folder, 'blobs', 'sha256'), { recursive: true });
  const write = ({ mediaType, bytes, annotations }: Blob): Descriptor => {
    const hex = sha256(bytes);
    writeFileSync(join(folder, 'blobs', 'sha256', hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length, ...(annotations && { annotations }) };
  };
  const manifest: Manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST_TYPE,
    config: write(content.config),
    layers: content.layers.map(write),
    ...(content.annotations && { annotations: content.annotations }),
  };
  const written = write({ mediaType: MANIFEST_TYPE, bytes: Buffer.from(JSON.stringify(manifest)) });
  const descriptor = { ...written, ...(platform && { platform }) };
  writeFileSync(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ schemaVersion: 2, manifests: [descriptor] }));
  return descriptor;
}

/** Reads a layout with one manifest. @throws Error where it has another number, or the manifest is not what its digest says */
export function readLayout(folder: string): Layout {
  const { manifests } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
  const [descriptor, second] = manifests;
  if (descriptor === undefined || second !== undefined)
    throw new Error(`${folder} has ${manifests.length} manifests, not one; pull one platform of an image alone`);
  const bytesOf = ({ digest, size }: Descriptor): Buffer => {
    const bytes = readFileSync(join(folder, 'blobs', ...digest.split(':')));
    if (`sha256:${sha256(bytes)}` !== digest || bytes.length !== size)
      throw new Error(`${folder}: the blob ${digest} has other content than its digest says`);
    return bytes;
  };
  return { descriptor, manifest: JSON.parse(bytesOf(descriptor).toString()) as Manifest, bytesOf };
}
