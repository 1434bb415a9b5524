import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { GrantlineProcess, runGrantline } from '../../support/service/grantline-process.js';
import { startPod } from '../running/pods.js';
import { kubectlOf, type ChartStack } from '../stack.js';
import type { Manifest, PodTemplate } from './manifest.js';

const PERIOD = 500;

interface Live extends Manifest {
  metadata: Manifest['metadata'] & { uid: string; generation?: number };
  status?: { conditions?: unknown[]; observedGeneration?: number; phase?: string };
}

/**
 * Stands in for the controllers and the kubelet of one namespace: runs its Jobs, its Deployment and the pods of `helm test`, and
 * reports what came of them, so that callers that wait for them continue.
 */
export class StandIn {
  /** Of Jobs and pods that have ended, `NAME.log`, and `service.json`, the environment of the service. */
  readonly folder: string;
  private readonly kubectl: (...args: string[]) => Promise<string>;
  private readonly begun = new Set<string>();
  private service: GrantlineProcess | undefined;
  private readonly ending = new AbortController();
  private following: Promise<void> = Promise.resolve();

  constructor(
    private readonly stack: ChartStack,
    private readonly namespace: string,
  ) {
    this.folder = join(stack.folder, `stand-in-${namespace}`);
    mkdirSync(this.folder);
    const kubectl = kubectlOf(stack);
    this.kubectl = (...args) => kubectl(...args, `--namespace=${namespace}`);
  }

  start(): void {
    this.following = this.follow();
  }

  async stop(): Promise<void> {
    this.ending.abort();
    await this.following;
    this.service?.signal('SIGTERM');
    await this.service?.finished;
  }

  private async follow(): Promise<void> {
    while (!this.ending.signal.aborted) {
      const text = await this.kubectl('get', 'jobs,deployments,poddisruptionbudgets,pods', '--output=json');
      for (const object of (JSON.parse(text) as { items: Live[] }).items) {
        await this.handle(object).catch(async (error: unknown) => {
          if (await this.isThere(object)) throw error; // else it was uninstalled meanwhile
        });
      }
      await pause(PERIOD, undefined, { signal: this.ending.signal }).catch(() => undefined);
    }
  }

  private async isThere({ kind, metadata }: Live): Promise<boolean> {
    const uid = await this.kubectl(
      'get',
      kind,
      metadata.name,
      '--ignore-not-found',
      '--output=jsonpath={.metadata.uid}',
    );
    return uid === metadata.uid;
  }

  /** Once for each generation of each object. */
  private async handle(object: Live): Promise<void> {
    const { kind, metadata, spec, status } = object;
    const generation = metadata.generation ?? 0;
    const key = `${metadata.uid}/${generation}`;
    if (this.begun.has(key) || (kind === 'Job' && status?.conditions !== undefined)) return;
    this.begun.add(key);
    const template = (spec as { template?: PodTemplate }).template;
    const patch = (change: object) =>
      this.kubectl(
        ...['patch', kind.toLowerCase(), metadata.name, '--subresource=status', '--type=merge'],
        `--patch=${JSON.stringify({ status: change })}`,
      );
    switch (kind) {
      case 'Job':
        if (template !== undefined) await patch(endOfJob(await this.run(metadata.name, template), new Date()));
        return;
      case 'Deployment':
        if (template !== undefined) await this.serve(template);
        await patch(readyDeployment(generation, (spec as { replicas: number }).replicas));
        return;
      case 'PodDisruptionBudget':
        await patch({
          observedGeneration: generation,
          disruptionsAllowed: 1,
          currentHealthy: 2,
          desiredHealthy: 1,
          expectedPods: 2,
        });
        return;
      case 'Pod':
        if (metadata.labels?.['app.kubernetes.io/component'] !== 'test' || metadata.name.startsWith('run-')) return;
        await patch({
          phase: (await this.run(metadata.name, object as unknown as PodTemplate)) ? 'Succeeded' : 'Failed',
        });
    }
  }

  /** @returns whether it ended with exit code 0 */
  private async run(name: string, template: PodTemplate): Promise<boolean> {
    const { command, args, environment } = await startPod(this.stack, template, this.namespace);
    const { code, stdout, stderr } =
      command.length === 0
        ? await runGrantline(args, environment)
        : await ended(
            spawn(process.execPath, [...command.slice(1), ...args], { env: await this.reachable(environment) }),
          );
    writeFileSync(join(this.folder, `${name}.log`), stdout + stderr);
    return code === 0;
  }

  private async serve(template: PodTemplate): Promise<void> {
    this.service?.signal('SIGTERM');
    await this.service?.finished;
    const { args, environment } = await startPod(this.stack, template, this.namespace);
    writeFileSync(join(this.folder, 'service.json'), JSON.stringify(environment));
    this.service = new GrantlineProcess(args, { ...environment, HOST: '127.0.0.1', PORT: '0', OPERATIONS_PORT: '0' });
    writeFileSync(join(this.folder, 'service.url'), await this.service.url());
  }

  /** No Service has an address here, and nothing listens where the engine would. */
  private async reachable(environment: Record<string, string>): Promise<Record<string, string>> {
    const api = (await this.service?.url()) ?? '';
    return { ...environment, API_URL: api, ENGINE_HOST: '127.0.0.1', ENGINE_PORT: '9' };
  }
}

function ended(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => (output[stream] += chunk.toString()));
  }
  return new Promise((done) => child.on('close', (code) => done({ code, ...output })));
}

function endOfJob(succeeded: boolean, now: Date): object {
  const time = now.toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = (type: string) => ({ type, status: 'True', lastTransitionTime: time, lastProbeTime: time });
  return succeeded
    ? {
        startTime: time,
        completionTime: time,
        succeeded: 1,
        conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
      }
    : { startTime: time, failed: 1, conditions: [condition('FailureTarget'), condition('Failed')] };
}

function readyDeployment(observedGeneration: number, replicas: number): object {
  const condition = (type: string, reason: string) => ({ type, status: 'True', reason, message: reason });
  return {
    observedGeneration,
    replicas,
    updatedReplicas: replicas,
    readyReplicas: replicas,
    availableReplicas: replicas,
    conditions: [
      condition('Available', 'MinimumReplicasAvailable'),
      condition('Progressing', 'NewReplicaSetAvailable'),
    ],
  };
}
