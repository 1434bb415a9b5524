import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { parse, parseAllDocuments } from 'yaml';

import type { ClusterStack } from '../stack.js';
import type { Manifest } from './manifest.js';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '..', '..', '..');

export const CHART = join(ROOT, 'helm', 'grantline');
/** Programs among the cluster tools. */
export const HELM_4 = 'helm';
export const HELM_3 = 'helm3';
export const HELMS = [HELM_4, HELM_3] as const;
export type Helm = (typeof HELMS)[number];

/** Where the value sets in `ci` are meant to be installed. */
export const RELEASE = 'grantline';
export const RELEASE_NAMESPACE = 'portal';

/** The names of the value sets that the chart brings along, each one of the shapes that it can take. */
export const VALUE_SETS = readdirSync(join(CHART, 'ci')).map((file) => file.replace(/-values\.yaml$/, ''));

export function valuesFile(set: string): string {
  return join(CHART, 'ci', `${set}-values.yaml`);
}

/** Arguments that put every ConfigMap of a value set into one namespace, so that specs beside each other share no objects. */
export function configMapsIn(engine: string, set: string): string[] {
  const values = parse(readFileSync(valuesFile(set), 'utf8')) as { accessControl?: { furtherConfigMaps?: object[] } };
  const further = (values.accessControl?.furtherConfigMaps ?? []).flatMap((_, index) => [
    `--set=accessControl.furtherConfigMaps[${index}].namespace=${engine}`,
    `--set=accessControl.furtherConfigMaps[${index}].name=further-${index}`,
  ]);
  return [`--set=accessControl.configMap.namespace=${engine}`, ...further];
}

export interface Rendering {
  text: string;
  objects: Manifest[];
}

/** Of everything that a rendering follows from, besides the values: specs that ask for the same one share it. */
const CHART_DIGEST = digestOf(CHART);

/** @param more further arguments, such as `--set` and what follows it */
export async function render(
  { parts, folder }: ClusterStack,
  set: string,
  { helm = HELM_4, release = RELEASE, more = [] }: { helm?: Helm; release?: string; more?: readonly string[] } = {},
): Promise<Rendering> {
  const args = ['template', release, CHART, `--namespace=${RELEASE_NAMESPACE}`, `--values=${valuesFile(set)}`, ...more];
  const key = createHash('sha256')
    .update(JSON.stringify([CHART_DIGEST, helm, args]))
    .digest('hex');
  const file = join(folder, 'renderings', key);
  const kept = await readFile(file, 'utf8').catch(() => undefined);
  const text = kept ?? (await run(join(parts.clusterTools, helm), args, { maxBuffer: 2 ** 26 })).stdout;
  if (kept === undefined) {
    await mkdir(join(folder, 'renderings'), { recursive: true });
    const whole = `${file}.${process.hrtime.bigint()}`;
    await writeFile(whole, text);
    await rename(whole, file);
  }
  return { text, objects: manifestsIn(text) };
}

function digestOf(folder: string): string {
  const digest = createHash('sha256');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    const path = join(folder, name);
    if (statSync(path).isFile()) digest.update(`${name}\0`).update(readFileSync(path));
  }
  return digest.digest('hex');
}

/** As kubectl reads them: YAML 1.1, and documents without content are none. */
export function manifestsIn(text: string): Manifest[] {
  const documents = parseAllDocuments(text, { version: '1.1' });
  return documents.flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    const object = document.toJS() as Manifest | null;
    return object === null ? [] : [object];
  });
}

/** Why a command of Helm's fails. @throws if it does not */
export async function refusal({ parts }: ClusterStack, helm: Helm, args: readonly string[]): Promise<string> {
  try {
    await run(join(parts.clusterTools, helm), args, { maxBuffer: 2 ** 26 });
  } catch (failure) {
    return (failure as { stderr: string }).stderr;
  }
  throw new Error(`${helm} ${args.join(' ')} was not refused`);
}
