import { execFileSync } from 'node:child_process';

import { layoutOf, OCI_ARTIFACTS, type OciArtifact, signatureLayoutOf } from './artifacts.js';
import { readLayout } from './oci-layout.js';
import { problemsOf } from './verify.js';

/**
 * Verifies, then pushes image, chart and their signatures with `crane`, which has the registry's sign-in. Nothing of another content
 * is replaced.
 * @param registry host and folder, such as registry.example.org/data
 * @returns the references by digest
 */
export function push(
  release: string,
  keyFile: string,
  { registry, version }: { registry: string; version: string },
): string[] {
  const problems = problemsOf(release, keyFile);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return (Object.keys(OCI_ARTIFACTS) as OciArtifact[]).map((name) => {
    const repository = `${registry}/${OCI_ARTIFACTS[name]}`;
    const { digest } = readLayout(layoutOf(release, name)).descriptor;
    const there = digestAt(`${repository}:${version}`);
    if (there !== null && there !== digest)
      throw new Error(`${repository}:${version} is there with another content, ${there}: a version is published once`);
    crane('push', layoutOf(release, name), `${repository}:${version}`);
    crane('push', signatureLayoutOf(release, name), `${repository}:${digest.replace(':', '-')}.sig`);
    if (digestAt(`${repository}:${version}`) !== digest)
      throw new Error(`${repository}:${version} is not what was pushed`);
    return `${repository}@${digest}`;
  });
}

function crane(...args: string[]): string {
  return execFileSync('crane', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/** Null: there is no such tag. */
function digestAt(reference: string): string | null {
  try {
    return crane('digest', reference);
  } catch {
    return null;
  }
}
