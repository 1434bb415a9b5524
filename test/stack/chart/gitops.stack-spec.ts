import { execFile } from 'node:child_process';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { parse } from 'yaml';

import { shareOf } from '../../support/landing.js';
import { kubectlOf, openStack, type ChartStack } from '../stack.js';
import { apply, defineForeignKinds, namespace } from './cluster-objects.js';
import { only, type Manifest } from './manifest.js';
import { configMapsIn, RELEASE, render, VALUE_SETS } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const kubectl = kubectlOf(stack);
const run = promisify(execFile);

interface Example {
  kind: string;
  spec: { values?: object; source?: { helm: { valuesObject: object } } };
}

/** Rendered as Argo CD does it, without a cluster, and what of it a tool compares: hooks are made anew in each sync. */
class Application {
  private constructor(
    readonly engine: string,
    readonly objects: readonly Manifest[],
    readonly file: string,
  ) {}

  static async of(set: string, name: string, ...more: string[]): Promise<Application> {
    const engine = `${name}-engine`;
    const values = [`--namespace=${name}`, ...configMapsIn(engine, set)];
    const rendered = (await render(stack, set, { more: [...values, ...more] })).objects;
    const objects = rendered.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined);
    const places = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
    await apply(
      stack,
      [...places].map((place) => namespace(place)),
    );
    const file = join(await mkdtemp(join(stack.folder, 'gitops-')), 'objects.yaml');
    await writeFile(file, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
    return new Application(engine, objects, file);
  }

  /** @returns the objects as the API server has them then */
  apply(...flags: string[]): Promise<string> {
    return kubectl('apply', `--filename=${this.file}`, '--output=yaml', ...flags);
  }

  /** Some sets name their namespace themselves, where other specs have another target. */
  async forgetTarget(): Promise<void> {
    const target = `${RELEASE}-access-control-target`;
    const { metadata } = only(
      this.objects.filter((object) => object.metadata.name === target),
      target,
    );
    await kubectl('delete', 'configmap', target, `--namespace=${metadata.namespace ?? ''}`);
  }

  /** What Argo CD, in each of its three ways to compare, and Flux show as different; both also apply. */
  async differences(): Promise<string[]> {
    const program = join(stack.parts.gitopsDiff, 'gitops-diff');
    const { stdout } = await run(program, [stack.cluster.kubeconfig, this.file], { maxBuffer: 2 ** 26 });
    const lines = stdout.trim().split('\n');
    expect(lines.pop()).toBe(`${this.objects.length} objects compared`);
    return lines;
  }
}

beforeAll(() => defineForeignKinds(stack));

it.each(shareOf(VALUE_SETS))(
  'the value set %s, applied, is in sync, and the same when it is applied again',
  async (set) => {
    const application = await Application.of(set, `gitops-${set}`);
    const first = await application.apply();
    expect(await application.apply()).toBe(first);
    expect(await application.differences()).toEqual([]);
    const second = await application.apply('--server-side', '--force-conflicts');
    expect(await application.apply('--server-side', '--force-conflicts')).toBe(second);
    await application.forgetTarget();
  },
);

it('what is published is no difference, and survives a sync', async () => {
  const application = await Application.of('default', 'gitops-published');
  await application.apply();
  const rules = ['configmap', 'trino-access-control', `--namespace=${application.engine}`];
  const published = { metadata: { annotations: { 'grantline.io/generation': '7' } }, data: { 'rules.json': '{}' } };
  await kubectl('patch', ...rules, '--type=merge', '--field-manager=grantline', `--patch=${JSON.stringify(published)}`);
  expect(await application.differences()).toEqual([]);
  await application.apply();
  await application.apply('--server-side', '--force-conflicts');
  const { data, metadata } = JSON.parse(await kubectl('get', ...rules, '--output=json')) as Manifest;
  expect(data).toEqual(published.data);
  expect(metadata.annotations).toMatchObject(published.metadata.annotations);
});

it('another ConfigMap for the rules is refused, without a look at the cluster and before all else', async () => {
  await (await Application.of('default', 'gitops-renamed')).apply();
  const renamed = await Application.of('default', 'gitops-renamed', '--set=accessControl.configMap.name=another');
  for (const flags of [[], ['--server-side', '--force-conflicts']]) {
    await expect(renamed.apply(...flags)).rejects.toThrow(/"grantline-access-control-target" is invalid.* immutable/);
  }
  const waves = renamed.objects.filter(({ metadata }) => metadata.annotations?.['argocd.argoproj.io/sync-wave']);
  expect(only(waves, 'an object with a wave of its own').metadata).toMatchObject({
    name: `${RELEASE}-access-control-target`,
    annotations: { 'argocd.argoproj.io/sync-wave': '-1' },
  });
});

it('the examples of docs/gitops.md have values that the chart takes', async () => {
  const guide = await readFile(join(import.meta.dirname, '..', '..', '..', 'docs', 'gitops.md'), 'utf8');
  const examples = [...guide.matchAll(/^```yaml\n([^]*?)^```/gm)].map(([, text = '']) => parse(text) as Example);
  expect(examples.map(({ kind }) => kind)).toEqual(['Application', 'HelmRelease']);
  const reference = (await render(stack, 'default')).objects;
  for (const { spec } of examples) {
    const file = join(await mkdtemp(join(stack.folder, 'gitops-')), 'values.json');
    await writeFile(file, JSON.stringify(spec.values ?? spec.source?.helm.valuesObject));
    const { objects } = await render(stack, 'default', { more: [`--values=${file}`] });
    expect(objects).toEqual(reference);
  }
});

it('a list without what the API server fills in is a difference, so that the tests above can fail', async () => {
  const application = await Application.of('httproute', 'gitops-bare');
  for (const { kind, spec } of application.objects) {
    if (kind === 'HTTPRoute') delete (spec as { rules: { matches?: unknown }[] }).rules[0]?.matches;
  }
  await writeFile(application.file, application.objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  await application.apply();
  expect((await application.differences()).join('\n')).toMatch(/^argo structured-merge HTTPRoute\/grantline/);
});
