import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import {
  ENVELOPE,
  layoutOf,
  OCI_ARTIFACTS,
  type OciArtifact,
  signatureLayoutOf,
  SUMS,
  SUMS_SIGNATURE,
  sumsOf,
} from './artifacts.js';
import { readLayout, sha256 } from './oci-layout.js';
import type { Provenance } from './provenance.js';
import { SIGNATURE_ANNOTATION, signedPayload } from './sign.js';
import { isSignedBy, readPublicKey, statementIn } from './signature.js';

const ARTIFACTS = Object.keys(OCI_ARTIFACTS) as OciArtifact[];

/** Everything that is wrong with a release; nothing: it is what the holder of the key signed, whole and without additions. */
export function problemsOf(release: string, keyFile: string): string[] {
  const key = readPublicKey(keyFile);
  const problems: string[] = [];
  const check = (what: string, isRight: () => boolean): void => {
    try {
      if (!isRight()) problems.push(what);
    } catch (error) {
      problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const read = (file: string): Buffer => readFileSync(join(release, file));

  check(`${SUMS} is not signed with this key`, () => isSignedBy(read(SUMS), read(SUMS_SIGNATURE).toString(), key));
  check(`the files are not those in ${SUMS}`, () => {
    const [listed, found] = [read(SUMS).toString(), sumsOf(release)].map((sums) => sums.trimEnd().split('\n'));
    const different = [...new Set([...(listed ?? []), ...(found ?? [])])].filter(
      (line) => listed?.includes(line) !== found?.includes(line),
    );
    if (different.length === 0) return true;
    throw new Error([...new Set(different.map((line) => line.slice(66)))].join(', '));
  });
  check(`${ENVELOPE} is not about these files`, () => {
    const { subject } = statementIn(read(ENVELOPE).toString(), key) as Provenance;
    const other = subject.filter(({ name, digest }) => digestOf(name) !== digest.sha256);
    const unnamed = ARTIFACTS.filter((artifact) => !subject.some(({ name }) => name === `oci/${artifact}`));
    if (other.length + unnamed.length === 0) return true;
    throw new Error([...other.map(({ name }) => name), ...unnamed].join(', '));
  });
  for (const name of ARTIFACTS) {
    check(`the layers of the ${name} are not those of its configuration`, () => hasItsLayers(layoutOf(release, name)));
    check(`the ${name} is not signed with this key`, () => {
      const { manifest, bytesOf } = readLayout(signatureLayoutOf(release, name));
      const [layer] = manifest.layers;
      if (layer === undefined) return false;
      const payload = bytesOf(layer);
      const { digest } = readLayout(layoutOf(release, name)).descriptor;
      const isAboutIt = payload.toString() === signedPayload(OCI_ARTIFACTS[name], digest);
      return isAboutIt && isSignedBy(payload, layer.annotations?.[SIGNATURE_ANNOTATION] ?? '', key);
    });
  }
  return problems;

  function digestOf(subject: string): string {
    const artifact = ARTIFACTS.find((name) => subject === `oci/${name}`);
    if (artifact === undefined) return sha256(read(subject));
    return readLayout(layoutOf(release, artifact)).descriptor.digest.replace('sha256:', '');
  }
}

/** Every blob is what its digest says, and an image's layers unpack to what its configuration names. */
function hasItsLayers(folder: string): boolean {
  const { manifest, bytesOf } = readLayout(folder);
  const { rootfs } = JSON.parse(bytesOf(manifest.config).toString()) as { rootfs?: { diff_ids: string[] } };
  const layers = manifest.layers.map(bytesOf);
  if (rootfs === undefined) return true;
  const unpacked = layers.map((bytes) => `sha256:${sha256(gunzipSync(bytes))}`);
  return JSON.stringify(unpacked) === JSON.stringify(rootfs.diff_ids);
}
