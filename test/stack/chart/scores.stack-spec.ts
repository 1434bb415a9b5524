import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { openStack, type ChartStack } from '../stack.js';
import { render, VALUE_SETS } from './rendering.js';

const stack: ChartStack = openStack(process.env);
const run = promisify(execFile);

/** What the two tools ask for and the chart does otherwise, on purpose. */
const KUBE_SCORE_ACCEPTED = [
  'container-image-pull-policy', // a digest, or a tag that is never moved, needs no second look
  'deployment-has-host-podantiaffinity', // topology spread constraints do that
];
/** What one set is about. */
const NOT_FOR_SET: Record<string, readonly string[]> = { 'no-network-policy': ['pod-networkpolicy'] };
const CHECKOV_ACCEPTED = [
  'CKV_K8S_8', // liveness, of the pods of helm test alone: kube-score looks at the service's
  'CKV_K8S_9', // readiness, as before
  'CKV_K8S_11', // a CPU limit throttles the hashing of passwords while cores are idle
  'CKV_K8S_15', // as for kube-score
  'CKV_K8S_21', // an extra object is in the release's namespace by itself
  'CKV_K8S_35', // a secret in an extra environment variable is the installer's choice
  'CKV_K8S_43', // a digest is a value; there is none to ship as the default
];

/** There the platform chooses the users, so both miss a high one. */
const SETS = VALUE_SETS.filter((set) => set !== 'own-accounts');
const folder = mkdtempSync(join(stack.folder, 'scores-'));
const fileOf = (set: string): string => join(folder, `${set}.yaml`);

beforeAll(async () => {
  for (const set of SETS) writeFileSync(fileOf(set), (await render(stack, set)).text);
});

it('kube-score finds nothing else', async () => {
  // Each alone: they are one release, and an autoscaler in one is for no Deployment in another.
  for (const set of SETS)
    expect({ set, found: await kubeScore(fileOf(set), NOT_FOR_SET[set]) }).toEqual({ set, found: [] });
});

it('checkov finds nothing else', async () => {
  expect(await checkov(folder)).toEqual([]);
});

it('both find what is missing, so that the tests above can fail', async () => {
  const { text } = await render(stack, 'default');
  const worse = text.replaceAll('readOnlyRootFilesystem: true', 'readOnlyRootFilesystem: false');
  const other = join(stack.folder, 'worse');
  mkdirSync(other, { recursive: true });
  writeFileSync(join(other, 'worse.yaml'), worse);
  expect((await kubeScore(join(other, 'worse.yaml'))).length).toBeGreaterThan(0);
  expect(await checkov(other)).toContain('CKV_K8S_22');
});

async function kubeScore(file: string, alsoAccepted: readonly string[] = []): Promise<string[]> {
  const ignored = [...KUBE_SCORE_ACCEPTED, ...alsoAccepted].flatMap((test) => ['--ignore-test', test]);
  const args = [
    'score',
    '--kubernetes-version=v1.30',
    '--output-format=ci',
    '--ignore-container-cpu-limit',
    ...ignored,
  ];
  const output = await outputOf(join(stack.parts.chartTools, 'kube-score'), [...args, file]);
  expect(output).toContain('[OK]');
  return output.split('\n').filter((line) => /^\[(CRITICAL|WARNING)\]/.test(line));
}

/** @returns the checks that failed */
async function checkov(directory: string): Promise<string[]> {
  const args = ['-m', 'checkov.main', '--directory', directory, '--framework', 'kubernetes', '--skip-download'];
  const output = await outputOf(join(stack.parts.checkov, 'bin', 'python'), [...args, '--compact', '--output', 'json']);
  const { results } = JSON.parse(output) as { results: { failed_checks: { check_id: string }[] } };
  const failed = new Set(results.failed_checks.map(({ check_id }) => check_id));
  return [...failed].filter((id) => !CHECKOV_ACCEPTED.includes(id));
}

/** Both end with exit code 1 when they have found something. */
async function outputOf(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await run(program, args, { maxBuffer: 2 ** 27, cwd: stack.folder })).stdout;
  } catch (failure) {
    const { stdout, code } = failure as { stdout?: string; code?: unknown };
    if (code !== 1 || stdout === undefined) throw failure;
    return stdout;
  }
}
