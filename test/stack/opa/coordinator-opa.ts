import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { freePort } from '../../support/service/free-port.js';
import { requestOf, type PluginQuestion } from '../../support/opa/plugin-question.js';
import { only } from '../chart/manifest.js';
import { opaValues } from '../running/engine-values.js';
import type { Processes, Running } from '../running/processes.js';
import { opaProgram, type VerificationKeys } from './opa-server.js';

/** As helm/engine/opa.yaml has it. */
interface Configuration {
  services: { grantline: { url: string; credentials: { bearer: { token_path: string } } } };
  decision_logs: { service: string; reporting: object };
  keys: VerificationKeys;
  persistence_directory: string;
}

/** The properties by which the engine finds what it asks. */
const URIS: Record<Exclude<PluginQuestion['entryPoint'], 'columnMask'>, string> = {
  allow: 'opa.policy.uri',
  batch: 'opa.policy.batched-uri',
  rowFilters: 'opa.policy.row-filters-uri',
  batchColumnMasks: 'opa.policy.batch-column-masking-uri',
};

interface Place {
  processes: Processes;
  /** Its volumes. */
  folder: string;
  /** The pod's. */
  name: string;
  /** Of Grantline's operations port. */
  url: string;
  token: string;
}

/** Stock OPA beside a coordinator, as `helm/engine` starts and configures it; only paths, ports, keys and Grantline's host are the test's. */
export class CoordinatorOpa {
  private running: Running | null = null;
  private starts = 0;
  private port = 0;
  private health = '';
  private metrics = '';
  private readonly values = opaValues();
  private readonly container = only(this.values.sidecarContainers.coordinator, 'the container');

  constructor(private readonly place: Place) {
    mkdirSync(join(place.folder, 'bundles'), { recursive: true });
    writeFileSync(join(place.folder, 'token'), place.token);
  }

  /** Starts it, again where it ran, with these keys in its configuration. */
  async start(keys: VerificationKeys): Promise<void> {
    await this.stop();
    const { place } = this;
    this.port = await freePort();
    const diagnostics = `127.0.0.1:${await freePort()}`;
    const { readinessProbe, args, env } = this.container;
    this.health = `http://${diagnostics}${readinessProbe.httpGet.path}`;
    this.metrics = `http://${diagnostics}/metrics`;
    const file = join(place.folder, 'opa.yaml');
    writeFileSync(file, JSON.stringify(this.configuration(keys)));
    const moved: Record<string, string> = {
      '--config-file': file,
      '--addr': `127.0.0.1:${this.port}`,
      '--diagnostic-addr': diagnostics,
    };
    // What has no value is the pod's name, of the pod's fields.
    const given = env.map(({ name, value }) => [name, value ?? place.name]);
    this.running = place.processes.launch({
      name: `${place.name}-${this.starts++}`,
      command: opaProgram(),
      args: args.map((arg) => {
        const [name = ''] = arg.split('=', 1);
        return moved[name] === undefined ? arg : `${name}=${moved[name]}`;
      }),
      env: Object.fromEntries(given) as Record<string, string>,
      ownEnvironment: true,
    });
  }

  /** What it has written since its last start. */
  get log(): string {
    return this.running === null ? '' : readFileSync(this.running.log, 'utf8');
  }

  async stop(): Promise<void> {
    await this.running?.stop();
    this.running = null;
  }

  /** The pod is gone, and its volumes with it. */
  async remove(): Promise<void> {
    await this.stop();
    rmSync(join(this.place.folder, 'bundles'), { recursive: true });
    mkdirSync(join(this.place.folder, 'bundles'));
  }

  /** What the probe gets. Null: it does not listen yet. */
  async readiness(): Promise<number | null> {
    return fetch(this.health).then(
      ({ status }) => status,
      () => null,
    );
  }

  /** The moment of the last answer about the bundle, in milliseconds, as the chart's alert reads it. */
  async lastAnswer(): Promise<number> {
    const text = await (await fetch(this.metrics)).text();
    return Number(/^last_success_bundle_request\{name="grantline"\} (\S+)$/m.exec(text)?.[1]) / 1e6;
  }

  /** @returns the result; null where it is undefined. @throws while it does not listen */
  async ask(question: PluginQuestion & { entryPoint: keyof typeof URIS }): Promise<unknown> {
    const properties = this.values.accessControl.properties.split('\n').map((line) => line.split(/=(.*)/s, 2));
    const uri = properties.find(([name]) => name === URIS[question.entryPoint])?.[1] ?? '';
    const body = JSON.stringify(requestOf(question));
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(Object.assign(new URL(uri), { port: this.port }), { method: 'POST', headers, body });
    return ((await response.json()) as { result?: unknown }).result ?? null;
  }

  private configuration(keys: VerificationKeys): Configuration {
    const { url, folder } = this.place;
    // With the decision logs, which stand there as a comment, but sent at once.
    const text = this.values.coordinator.additionalConfigFiles['opa.yaml'].replace(/^# (decision_logs:|  .*)$/gm, '$1');
    const configuration = parse(text) as Configuration;
    configuration.decision_logs.reporting = { min_delay_seconds: 1, max_delay_seconds: 1 };
    const { grantline } = configuration.services;
    grantline.url = new URL(new URL(grantline.url).pathname, url).href;
    grantline.credentials.bearer.token_path = join(folder, 'token');
    return { ...configuration, keys, persistence_directory: join(folder, 'bundles') };
  }
}
