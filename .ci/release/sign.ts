import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import {
  ENVELOPE,
  layoutOf,
  OCI_ARTIFACTS,
  type OciArtifact,
  PROVENANCE,
  signatureLayoutOf,
  SUMS,
  SUMS_SIGNATURE,
  sumsOf,
} from './artifacts.js';
import { readLayout, writeLayout } from './oci-layout.js';
import { envelopeOf, readPrivateKey, signatureOf } from './signature.js';

export const SIGNED_PAYLOAD_TYPE = 'application/vnd.dev.cosign.simplesigning.v1+json';
export const SIGNATURE_ANNOTATION = 'dev.cosignproject.cosign/signature';

/** Signs the provenance, what a registry keeps, and then the list of all files. */
export function signRelease(release: string, keyFile: string): void {
  const key = readPrivateKey(keyFile);
  const provenance = JSON.parse(readFileSync(join(release, PROVENANCE), 'utf8')) as object;
  writeFileSync(join(release, ENVELOPE), `${JSON.stringify(envelopeOf(provenance, key))}\n`);
  rmSync(join(release, PROVENANCE));
  for (const name of Object.keys(OCI_ARTIFACTS) as OciArtifact[]) {
    const { digest } = readLayout(layoutOf(release, name)).descriptor;
    const bytes = Buffer.from(signedPayload(OCI_ARTIFACTS[name], digest));
    writeLayout(signatureLayoutOf(release, name), {
      config: { mediaType: 'application/vnd.oci.image.config.v1+json', bytes: Buffer.from('{}') },
      layers: [
        { mediaType: SIGNED_PAYLOAD_TYPE, bytes, annotations: { [SIGNATURE_ANNOTATION]: signatureOf(bytes, key) } },
      ],
    });
  }
  const sums = sumsOf(release);
  writeFileSync(join(release, SUMS), sums);
  writeFileSync(join(release, SUMS_SIGNATURE), `${signatureOf(Buffer.from(sums), key)}\n`);
}

/** What cosign signs for an image (https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md). */
export function signedPayload(name: string, digest: string): string {
  return JSON.stringify({
    critical: {
      identity: { 'docker-reference': name },
      image: { 'docker-manifest-digest': digest },
      type: 'cosign container image signature',
    },
    optional: null,
  });
}
