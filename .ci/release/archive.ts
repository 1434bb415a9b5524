import { execFileSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';

import { type Blob, sha256 } from './oci-layout.js';

const LARGEST_BYTES = 2 ** 30;

/**
 * A tar archive whose bytes follow from the files' names, contents and modes alone: sorted, all of one time, owned by root.
 * @param seconds the time of all members, since 1970
 */
export function tarOf(folder: string, members: readonly string[], seconds: number): Buffer {
  return execFileSync(
    'tar',
    [
      ...['--create', '--file=-', '--format=gnu', '--sort=name', `--mtime=@${seconds}`],
      ...['--owner=0', '--group=0', '--numeric-owner', '--directory', folder, '--', ...members],
    ],
    { maxBuffer: LARGEST_BYTES },
  );
}

/** A layer of an image, and the digest of what is in it when it is unpacked. */
export function layerOf(tar: Uint8Array): Blob & { diffId: string } {
  return {
    mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
    bytes: gzipSync(tar),
    diffId: `sha256:${sha256(tar)}`,
  };
}
