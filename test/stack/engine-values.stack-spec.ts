import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { parse } from 'yaml';

import { only, podsIn } from './chart/manifest.js';
import { render } from './chart/rendering.js';
import { type EngineMode, launchNode, MODES, untilStarted } from './running/engine.js';
import { coordinatorConfig, engineValues, opaValues, rulesMount, workerConfig } from './running/engine-values.js';
import { freePort } from '../support/service/free-port.js';
import { Processes } from './running/processes.js';
import { openStack } from './stack.js';

const stack = openStack(process.env);
const FOLDER = { insecure: 'in-cluster', verified: 'verified', tls: 'tls' };

/** What the public chart itself (trino 1.42.2, Helm 3.17.3) made of `helm/engine`. */
const reference = (mode: EngineMode, file: string): string =>
  readFileSync(join(import.meta.dirname, 'engine-values', FOLDER[mode], file), 'utf8');

describe.each<EngineMode>([...MODES, 'tls'])('the values for the engine, %s', (mode) => {
  it('are rendered here as the public chart renders them', () => {
    const values = engineValues(mode);
    expect(coordinatorConfig(values)).toBe(reference(mode, 'coordinator.config.properties'));
    expect(workerConfig(values)).toBe(reference(mode, 'worker.config.properties'));
    expect(values.accessControl.properties).toBe(reference(mode, 'access-control.properties'));
  });

  it('give a worker the shared secret, and no authentication settings', () => {
    const worker = reference(mode, 'worker.config.properties');
    expect(worker).toContain('internal-communication.shared-secret=${ENV:TRINO_SHARED_SECRET}\n');
    expect(worker).not.toMatch(/authentication|forwarded|alternate-header|OIDC_ISSUER/);
  });
});

it('the values for OPA are rendered here as the public chart renders them', () => {
  const file = (name: string) => readFileSync(join(import.meta.dirname, 'engine-values', 'opa', name), 'utf8');
  const { accessControl, sidecarContainers, coordinator } = opaValues();
  expect(accessControl.properties).toBe(file('access-control.properties'));
  expect(coordinator.additionalConfigFiles['opa.yaml']).toBe(file('opa.yaml'));
  expect({ containers: sidecarContainers.coordinator, volumes: coordinator.additionalVolumes }).toEqual(
    parse(file('pod.yaml')),
  );
  // Without them the volume of the rules would be gone, and with it the way back.
  expect(coordinator.additionalVolumes).toEqual(
    expect.arrayContaining(engineValues('insecure').coordinator.additionalVolumes),
  );
});

it('the values let the pods of Grantline in that ask the engine, and mount the ConfigMap that its chart makes', async () => {
  const { objects } = await render(stack, 'default');
  const values = engineValues('insecure');
  const { podSelector } = only(
    values.networkPolicy.ingress.flatMap(({ from }) => from),
    'a peer',
  );
  const matching = podsIn(objects).filter(({ metadata: { labels } }) =>
    Object.entries(podSelector.matchLabels).every(([name, value]) => labels[name] === value),
  );
  expect(matching.map(({ component }) => component)).toEqual(['api']);
  const { name } = rulesMount(values).volume;
  expect(objects).toContainEqual(
    expect.objectContaining({ kind: 'ConfigMap', metadata: expect.objectContaining({ name }) as object }),
  );
});

describe.each(MODES)('a worker, %s', (mode) => {
  const processes = new Processes(mkdtempSync(join(stack.folder, `workers-${mode}-`)));
  afterAll(() => processes.stopAll());

  /** @param shared what both roles get beyond our values */
  const start = async (name: string, shared: readonly string[] = []) => {
    const values = engineValues(mode);
    const coordinator = new URL(stack.engines[mode]);
    const port = await freePort();
    const config = workerConfig({
      ...values,
      fullnameOverride: coordinator.hostname,
      service: { port },
      coordinator: { ...values.coordinator, maxMemoryPerNode: '300MB' },
      additionalConfigProperties: [...values.additionalConfigProperties, ...shared],
    }).replace(/^discovery.uri=.*$/m, `discovery.uri=${coordinator.origin}`);
    const node = await launchNode(processes, stack.parts, { name, config, issuer: stack.issuer });
    return { node, url: `http://127.0.0.1:${port}` };
  };
  it('starts with its part of the values', async () => {
    const { node, url } = await start('worker');
    await untilStarted(node, url);
    await node.stop();
  });

  // Only without the type, which the public chart gives to the coordinator alone: a node that has both starts.
  it('does not start with the JWT properties of the coordinator in what both roles share', async () => {
    const jwt = engineValues(mode)
      .server.coordinatorExtraConfig.split('\n')
      .filter((line) => line.includes('.jwt.'));
    expect(jwt.length).toBeGreaterThan(2);
    const { node } = await start('misplaced', jwt);
    expect((await node.ended).exitCode).not.toBe(0);
    const log = readFileSync(node.log, 'utf8');
    for (const name of jwt.map((line) => line.split('=', 1)[0] ?? '')) {
      expect(log).toContain(`Configuration property '${name}' was not used`);
    }
  });
});
