import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

import { only } from '../chart/manifest.js';
import type { EngineMode } from './engine.js';

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'helm', 'engine');
const FILES: Record<EngineMode, string> = {
  insecure: 'in-cluster.yaml',
  verified: 'verified.yaml',
  tls: 'tls.yaml',
};

/** Of the public chart's values, those that shape what we render. */
export interface EngineValues {
  fullnameOverride: string;
  env: { name: string; value: string }[];
  additionalConfigProperties: string[];
  accessControl: { type: string; properties: string };
  server: {
    coordinatorExtraConfig: string;
    authenticationType: string | null;
    config?: { https: { enabled: boolean; port: number; keystore: { path: string } } };
  };
  service: { port: number };
  networkPolicy: { ingress: { from: { podSelector: { matchLabels: Record<string, string> } }[] }[] };
  coordinator: {
    includeCoordinator: boolean;
    maxMemoryPerNode: string;
    additionalVolumes: { name: string; configMap: RulesVolume }[];
    additionalVolumeMounts: { name: string; mountPath: string }[];
  };
}

/** The ConfigMap that the coordinator mounts, and which of its keys. */
export interface RulesVolume {
  name: string;
  items: { key: string; path: string }[];
}

/** What is left out of our files, as the public chart has it. */
const CHART_DEFAULTS = {
  server: { authenticationType: null },
  service: { port: 8080 },
  coordinator: { includeCoordinator: false, maxMemoryPerNode: '1GB' },
};

/** The values of one mode, as an installation has them that names both files. */
export function engineValues(mode: EngineMode): EngineValues {
  const common = read('values.yaml');
  const own = read(FILES[mode]);
  return {
    ...common,
    server: { ...CHART_DEFAULTS.server, ...own.server },
    service: { ...CHART_DEFAULTS.service },
    coordinator: { ...CHART_DEFAULTS.coordinator, ...common.coordinator },
  };
}

/** Of the values for OPA, what the public chart makes its configuration, its container and its volumes of. */
export interface OpaValues {
  accessControl: { properties: string };
  sidecarContainers: {
    coordinator: {
      args: string[];
      env: { name: string; value?: string }[];
      readinessProbe: { httpGet: { path: string } };
    }[];
  };
  coordinator: { additionalConfigFiles: { 'opa.yaml': string }; additionalVolumes: object[] };
}

/** What an installation has beside one of the modes whose coordinators ask OPA. */
export function opaValues(): OpaValues {
  return { ...readFile('opa.yaml'), ...readFile('opa-access-control.yaml') } as OpaValues;
}

/** The one volume of the coordinator, and where it is mounted. @throws unless there is exactly one of each */
export function rulesMount({ coordinator }: EngineValues): { volume: RulesVolume; mountPath: string } {
  const volume = only(coordinator.additionalVolumes, 'a volume of the coordinator');
  const mount = only(coordinator.additionalVolumeMounts, 'a mount of the coordinator');
  if (mount.name !== volume.name) throw new Error(`${mount.name} is mounted, and no volume`);
  return { volume: volume.configMap, mountPath: mount.mountPath };
}

function read(file: string): EngineValues {
  return readFile(file) as EngineValues;
}

function readFile(file: string): object {
  return parse(readFileSync(join(FOLDER, file), 'utf8')) as object;
}

/**
 * The coordinator's `config.properties`, in the order of the public chart's `configmap-coordinator.yaml`. A spec compares it with
 * what that chart itself made of the same values.
 */
export function coordinatorConfig(values: EngineValues): string {
  const { server, service, coordinator, additionalConfigProperties } = values;
  return lines(
    'coordinator=true',
    `node-scheduler.include-coordinator=${String(coordinator.includeCoordinator)}`,
    `http-server.http.port=${service.port}`,
    'query.max-memory=4GB',
    `query.max-memory-per-node=${coordinator.maxMemoryPerNode}`,
    `discovery.uri=http://localhost:${service.port}`,
    ...(server.authenticationType === null ? [] : [`http-server.authentication.type=${server.authenticationType}`]),
    ...additionalConfigProperties,
    ...(server.config === undefined ? [] : secured(server.config.https)),
    server.coordinatorExtraConfig.trimEnd(),
  );
}

function secured({
  enabled,
  port,
  keystore,
}: {
  enabled: boolean;
  port: number;
  keystore: { path: string };
}): string[] {
  return [
    `http-server.https.enabled=${String(enabled)}`,
    `http-server.https.port=${port}`,
    `http-server.https.keystore.path=${keystore.path}`,
  ];
}

/** A worker's, as `configmap-worker.yaml` makes it. */
export function workerConfig({
  fullnameOverride,
  service,
  coordinator,
  additionalConfigProperties,
}: EngineValues): string {
  return lines(
    'coordinator=false',
    `http-server.http.port=${service.port}`,
    'query.max-memory=4GB',
    `query.max-memory-per-node=${coordinator.maxMemoryPerNode}`,
    `discovery.uri=http://${fullnameOverride}:${service.port}`,
    ...additionalConfigProperties,
  );
}

function lines(...all: string[]): string {
  return all.map((line) => `${line}\n`).join('');
}
