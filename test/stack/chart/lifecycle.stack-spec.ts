import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { kubectlOf, openStack, type ChartStack } from '../stack.js';
import { apply, defineForeignKinds, namespace } from './cluster-objects.js';
import { CHART, configMapsIn, HELM_3, HELM_4, HELMS, RELEASE, VALUE_SETS, valuesFile, type Helm } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const kubectl = kubectlOf(stack);
const run = promisify(execFile);

/** As Grantline leaves it: published rules with their copy, and bytes that a careless round trip would change. */
const PUBLISHED = {
  annotations: { 'grantline.io/generation': '7', 'grantline.io/rules-hash': 'a1b2' },
  data: {
    'rules.json': JSON.stringify({ catalogs: [{ catalog: 'Zürich\u2028\t\\d+', filler: 'x'.repeat(200_000) }] }),
    'rules.json.bak': '{"catalogs": [ ]}\r\n\n',
  },
};

/** A release of its own in two namespaces of its own. */
class Release {
  readonly engine: string;

  constructor(readonly name: string) {
    this.engine = `${name}-engine`;
  }

  async prepare(): Promise<void> {
    await apply(stack, [namespace(this.name), namespace(this.engine)]);
  }

  /** Nothing runs here, so hooks would wait in vain. The objects are validated elsewhere, by the server itself. */
  async helm(
    program: Helm,
    command: 'install' | 'upgrade',
    { set = 'default', chart = CHART, more = [] }: { set?: string; chart?: string; more?: readonly string[] } = {},
  ): Promise<void> {
    const values = [`--values=${valuesFile(set)}`, ...configMapsIn(this.engine, set), ...more];
    await this.command(program, command, RELEASE, chart, ...values, '--no-hooks', '--disable-openapi-validation');
  }

  async command(program: Helm, ...args: string[]): Promise<string> {
    const { kubeconfig } = stack.cluster;
    const flags = [`--namespace=${this.name}`, `--kubeconfig=${kubeconfig}`];
    const { stdout } = await run(join(stack.parts.clusterTools, program), [...args, ...flags], {
      maxBuffer: 2 ** 26,
      env: { ...process.env, KUBECACHEDIR: `${kubeconfig}.cache` },
    });
    return stdout;
  }

  async publish(): Promise<void> {
    const { annotations, data } = PUBLISHED;
    const file = join(stack.folder, `${this.name}-published.json`);
    await writeFile(file, JSON.stringify({ metadata: { annotations }, data }));
    const target = ['configmap', 'trino-access-control', `--namespace=${this.engine}`];
    await kubectl('patch', ...target, '--type=merge', '--field-manager=grantline', `--patch-file=${file}`);
  }

  async rules(): Promise<typeof PUBLISHED> {
    const target = ['configmap', 'trino-access-control', `--namespace=${this.engine}`, '--output=json'];
    const { metadata, data } = JSON.parse(await kubectl('get', ...target)) as {
      metadata: { annotations: Record<string, string> };
      data: (typeof PUBLISHED)['data'];
    };
    const own = Object.entries(metadata.annotations).filter(([name]) => name.startsWith('grantline.io/'));
    return { annotations: Object.fromEntries(own) as (typeof PUBLISHED)['annotations'], data };
  }

  async expectRules(): Promise<void> {
    expect(await this.rules()).toEqual(PUBLISHED);
  }
}

async function installed(name: string, program: Helm): Promise<Release> {
  const release = new Release(name);
  await release.prepare();
  await release.helm(program, 'install');
  await release.publish();
  return release;
}

describe.each<[Helm, Helm]>([
  [HELM_4, HELM_3],
  [HELM_3, HELM_4],
])('what is published, installed by %s', (program, other) => {
  it('survives upgrade, rollback, uninstall and re-install, also by the other Helm', async () => {
    const release = await installed(`chart-life-${program}`, program);
    await release.helm(program, 'upgrade', { set: 'cronjob' });
    await release.expectRules();
    await release.command(program, 'rollback', RELEASE, '1', '--no-hooks');
    await release.expectRules();
    await release.command(program, 'uninstall', RELEASE, '--no-hooks');
    await release.expectRules();
    await release.helm(program, 'install');
    await release.expectRules();
    await release.helm(other, 'upgrade', { set: 'cronjob' });
    await release.expectRules();
    await release.command(other, 'rollback', RELEASE, '1', '--no-hooks');
    await release.expectRules();
    await release.helm(program, 'upgrade');
    await release.expectRules();
    await release.command(other, 'uninstall', RELEASE, '--no-hooks');
    await release.expectRules();
  });

  // A revision without the previous ConfigMap, and a rollback past it by Helm 4, would empty it.
  it('is not left behind by an upgrade to another ConfigMap', async () => {
    const release = await installed(`chart-rename-${program}`, program);
    const renamed = ['--reuse-values', '--set=accessControl.configMap.name=another', '--no-hooks'];
    await expect(release.command(program, 'upgrade', RELEASE, CHART, ...renamed)).rejects.toThrow(
      /accessControl\.configMap cannot become chart-rename-\w+-engine\/another by an upgrade/,
    );
    await release.expectRules();
  });
});

it('survives every shape of the chart, by both Helms in turn', async () => {
  await defineForeignKinds(stack);
  // One names another ConfigMap, which is refused, as above, and one lives in another namespace.
  const sets = VALUE_SETS.filter((name) => !['everything', 'part-of-another-chart'].includes(name));
  const half = (rest: number) => sets.filter((_, index) => index % 2 === rest);
  const through = async (name: string, shapes: readonly string[]) => {
    const release = await installed(name, HELM_3);
    for (const [index, set] of shapes.entries()) {
      await release.helm(index % 2 === 0 ? HELM_4 : HELM_3, 'upgrade', { set });
    }
    await release.expectRules();
    await release.command(HELM_4, 'rollback', RELEASE, '--no-hooks');
    await release.expectRules();
  };
  await Promise.all([through('chart-shapes-0', half(0)), through('chart-shapes-1', half(1))]);
});

it('survives that every other object gets another name', async () => {
  const release = await installed('chart-other-names', HELM_4);
  await release.helm(HELM_4, 'upgrade', { more: ['--dry-run=client', '--set=fullnameOverride=portal'] });
  await release.helm(HELM_4, 'upgrade', { more: ['--set=fullnameOverride=portal'] });
  await release.expectRules();
  const deployments = await kubectl('get', 'deployments', `--namespace=${release.name}`, '--output=name');
  expect(deployments.trim()).toBe('deployment.apps/portal');
});

it('is spared by an upgrade that reuses the values of a chart with fewer, and the error names what is missing', async () => {
  const release = new Release('chart-older');
  await release.prepare();
  const newer = await copied('newer');
  for (const file of ['values.yaml', 'values.schema.json']) {
    const text = await readFile(join(newer, file), 'utf8');
    await writeFile(join(newer, file), text.replaceAll(/\bretiredRoute\b/g, 'formerRoute'));
  }
  await release.helm(HELM_3, 'install');
  await release.publish();
  for (const program of HELMS) {
    await expect(release.command(program, 'upgrade', RELEASE, newer, '--reuse-values', '--no-hooks')).rejects.toThrow(
      /formerRoute/,
    );
  }
  await release.expectRules();
});

it('would be lost to Helm 3 if a chart ever rendered data, so that the tests above can fail', async () => {
  const release = new Release('chart-seeded');
  await release.prepare();
  const seeded = await copied('seeded');
  const template = join(seeded, 'templates', 'access-control-configmap.yaml');
  await writeFile(template, `${await readFile(template, 'utf8')}data: {}\n`);
  await release.helm(HELM_3, 'install', { chart: seeded });
  await release.publish();
  await release.helm(HELM_3, 'upgrade');
  expect((await release.rules()).data).toBeUndefined();
});

/** A copy of the chart, to be changed. */
async function copied(name: string): Promise<string> {
  const folder = join(await mkdtemp(join(stack.folder, `${name}-`)), 'grantline');
  await cp(CHART, folder, { recursive: true });
  return folder;
}
