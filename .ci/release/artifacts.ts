import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { sha256 } from './oci-layout.js';

/** The artifacts that a registry keeps, each with an OCI layout below `oci/`, and the names that they have there. */
export const OCI_ARTIFACTS = { image: 'grantline', chart: 'charts/grantline' } as const;
export type OciArtifact = keyof typeof OCI_ARTIFACTS;

/** Folders of the libraries that are packages of their own, besides the service. */
export const LIBRARIES = ['./src/rules-files', './src/query-engine/client'] as const;

/** Until it is signed. */
export const PROVENANCE = 'provenance.json';
export const ENVELOPE = 'provenance.intoto.jsonl';
export const SUMS = 'SHA256SUMS';
export const SUMS_SIGNATURE = 'SHA256SUMS.sig';

export const layoutOf = (release: string, name: OciArtifact): string => join(release, 'oci', name);
/** As cosign keeps them: beside what they sign. */
export const signatureLayoutOf = (release: string, name: OciArtifact): string => join(release, 'oci', `${name}.sig`);

/** All files of a release, as SHA256SUMS lists them: without itself and its signature. */
export function filesOf(release: string): string[] {
  return readdirSync(release, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(release, '/').length))
    .filter((file) => file !== SUMS && file !== SUMS_SIGNATURE)
    .sort();
}

/** In the form that `sha256sum --check` reads. */
export function sumsOf(release: string): string {
  return filesOf(release)
    .map((file) => `${sha256(readFileSync(join(release, file)))}  ${file}\n`)
    .join('');
}
