import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { auditLog } from '../running/api-server.js';
import { until } from '../running/until.js';
import { openStack, type ChartStack } from '../stack.js';
import { apply, namespace } from './cluster-objects.js';
import { render } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const RULES = 'trino-access-control';
const FAILURE = 'validation.policy.admission.k8s.io/validation_failure';
const CHANGE = ['patch', 'configmap', RULES, '--type=merge'];
const PUBLISHES_HERE = 'Grantline publishes here; change the grants instead';
const GROUP = 'platform:break-glass';

interface Answer {
  code: number;
  stdout: string;
  stderr: string;
}

/** A release whose ConfigMap is guarded, in two namespaces of its own. What asks is an administrator of the cluster. */
class GuardedRelease {
  readonly namespace: string;
  readonly engine: string;

  constructor(readonly action: 'Deny' | 'Warn' | 'Audit') {
    this.namespace = `chart-guard-${action.toLowerCase()}`;
    this.engine = `${this.namespace}-engine`;
  }

  /** Returns when the server looks at the policy, some seconds after it was made. */
  async install(): Promise<void> {
    const more = [
      ...[`--namespace=${this.namespace}`, '--no-hooks', `--set=accessControl.configMap.namespace=${this.engine}`],
      `--set=accessControl.admissionPolicy.action=${this.action}`,
    ];
    await apply(stack, [namespace(this.namespace), namespace(this.engine)]);
    await apply(stack, (await render(stack, 'admission-policy', { more })).objects);
    await until(`the policy of ${this.engine} is looked at`, 60_000, async () => {
      const { code, stderr } = await this.change({ 'rules.json': 'tried' }, '--dry-run=server');
      return code !== 0 || stderr !== '' || this.failuresOnRecord().length > 0 ? true : undefined;
    });
  }

  change(data: Record<string, string>, ...more: string[]): Promise<Answer> {
    return this.kubectl(...CHANGE, `--patch=${JSON.stringify({ data })}`, ...more);
  }

  kubectl(...args: string[]): Promise<Answer> {
    const { kubeconfig } = stack.cluster;
    const options = [`--kubeconfig=${kubeconfig}`, `--cache-dir=${kubeconfig}.cache`, `--namespace=${this.engine}`];
    const program = join(stack.parts.clusterTools, 'kubectl');
    return new Promise((done) => {
      const child = execFile(program, [...options, ...args], { timeout: 60_000 }, (_, stdout, stderr) => {
        done({ code: child.exitCode ?? 1, stdout, stderr });
      });
    });
  }

  async content(): Promise<unknown> {
    const { data, immutable } = JSON.parse((await this.kubectl('get', 'configmap', RULES, '--output=json')).stdout) as {
      data?: unknown;
      immutable?: boolean;
    };
    return { data, immutable };
  }

  async token(): Promise<string> {
    const { stdout } = await this.kubectl('create', 'token', 'grantline', `--namespace=${this.namespace}`);
    return stdout.trim();
  }

  /** What the policy found wrong, by the server's audit log. */
  failuresOnRecord(): string[] {
    const [, ...lines] = readFileSync(auditLog(stack.folder), 'utf8').split('\n').reverse(); // the last one may be half written
    const events = lines.reverse().map((line) => JSON.parse(line) as AuditEvent);
    return events.flatMap(({ objectRef, annotations }) => {
      const found = annotations?.[FAILURE];
      return objectRef?.namespace === this.engine && found !== undefined ? [found] : [];
    });
  }
}

interface AuditEvent {
  objectRef?: { namespace?: string };
  annotations?: Record<string, string>;
}

describe('the admission policy, Deny', () => {
  const release = new GuardedRelease('Deny');
  const published = { 'rules.json': '{"catalogs":[]}', 'rules.json.bak': '{}' };
  beforeAll(async () => {
    await release.install();
    // By Grantline's account, as every publication.
    const answer = await release.change(published, `--token=${await release.token()}`);
    expect(answer).toMatchObject({ code: 0, stderr: '' });
  });

  it.each<[string, string[], string]>([
    ['change the rules', [...CHANGE, '--patch={"data":{"rules.json":"{}"}}'], PUBLISHES_HERE],
    ['empty it', [...CHANGE, '--patch={"data":null}'], PUBLISHES_HERE],
    ['add a key', [...CHANGE, '--patch={"data":{"more":""}}'], PUBLISHES_HERE],
    ['shadow the rules', [...CHANGE, '--patch={"binaryData":{"more":"e30="}}'], PUBLISHES_HERE],
    ['end all publications', [...CHANGE, '--patch={"immutable":true}'], 'immutable would end every later publication'],
    ['delete it', ['delete', 'configmap', RULES], 'without it the engine has no rules'],
    [
      'delete all ConfigMaps at once',
      ['delete', '--raw=/api/v1/namespaces/chart-guard-deny-engine/configmaps'],
      'without it the engine has no rules',
    ],
  ])('refuses other accounts to %s, with the reason', async (_, command, why) => {
    const { code, stderr } = await release.kubectl(...command);
    expect(code).not.toBe(0);
    expect(stderr).toContain('(Forbidden)');
    expect(stderr).toContain(why);
    expect(await release.content()).toEqual({ data: published });
  });

  it.each([
    ['a label', ['label', 'configmap', RULES, 'team=data']],
    ['an annotation', ['annotate', 'configmap', RULES, 'example.org/seen=yes']],
    ['another ConfigMap', ['create', 'configmap', 'another', '--from-literal=rules.json={}']],
  ])('does not mind %s', async (_, command) => {
    expect(await release.kubectl(...command)).toMatchObject({ code: 0, stderr: '' });
  });

  it('does not mind the chart itself, applied once more', async () => {
    await release.install();
    expect(await release.content()).toEqual({ data: published });
  });

  it('lets the break-glass group through, and no other one', async () => {
    const as = (group: string) => ['--as=another-user', '--as-group=system:masters', `--as-group=${group}`];
    expect((await release.change({ 'rules.json': '{}' }, ...as('platform:operators'))).stderr).toContain(
      PUBLISHES_HERE,
    );
    expect(await release.change({ 'rules.json': '{}' }, ...as(GROUP))).toMatchObject({ code: 0, stderr: '' });
    expect(await release.content()).toEqual({ data: { ...published, 'rules.json': '{}' } });
  });
});

it('the admission policy, Warn: lets a change through with a warning', async () => {
  const release = new GuardedRelease('Warn');
  await release.install();
  const { code, stderr } = await release.change({ 'rules.json': '{}' });
  expect(code).toBe(0);
  expect(stderr).toMatch(/^Warning: Validation failed for ValidatingAdmissionPolicy/);
  expect(stderr).toContain(PUBLISHES_HERE);
  expect(await release.content()).toEqual({ data: { 'rules.json': '{}' } });
  const own = await release.change({ 'rules.json': '{ }' }, `--token=${await release.token()}`);
  expect(own).toMatchObject({ code: 0, stderr: '' });
});

it('the admission policy, Audit: lets a change through without a word, and puts it on record', async () => {
  const release = new GuardedRelease('Audit');
  await release.install();
  const before = release.failuresOnRecord().length;
  expect(await release.change({ 'rules.json': '{}' })).toMatchObject({ code: 0, stderr: '' });
  await until('the change is on record', 30_000, () =>
    Promise.resolve(release.failuresOnRecord().length > before ? true : undefined),
  );
  expect(release.failuresOnRecord().at(-1)).toContain(PUBLISHES_HERE);
});
