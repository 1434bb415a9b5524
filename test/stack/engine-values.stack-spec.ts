import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { launchNode, MODES, untilStarted } from './running/engine.js';
import { coordinatorConfig, engineValues, workerConfig } from './running/engine-values.js';
import { freePort } from './running/free-port.js';
import { Processes } from './running/processes.js';
import { openStack } from './stack.js';

const FOLDER = { insecure: 'in-cluster', verified: 'verified' };

/** What the public chart itself (trino 1.42.2, Helm 3.17.3) made of `helm/engine`. */
const reference = (mode: (typeof MODES)[number], file: string): string =>
  readFileSync(join(import.meta.dirname, 'engine-values', FOLDER[mode], file), 'utf8');

describe.each(MODES)('the values for the engine, %s', (mode) => {
  it('are rendered here as the public chart renders them', () => {
    const values = engineValues(mode);
    expect(coordinatorConfig(values)).toBe(reference(mode, 'coordinator.config.properties'));
    expect(workerConfig(values)).toBe(reference(mode, 'worker.config.properties'));
    expect(values.accessControl.properties).toBe(reference(mode, 'access-control.properties'));
  });

  it('give a worker the shared secret, and nothing about who asks', () => {
    const worker = reference(mode, 'worker.config.properties');
    expect(worker).toContain('internal-communication.shared-secret=${ENV:TRINO_SHARED_SECRET}\n');
    expect(worker).not.toMatch(/authentication|forwarded|alternate-header|OIDC_ISSUER/);
  });
});

describe('a worker', () => {
  const stack = openStack(process.env);
  const processes = new Processes(mkdtempSync(join(stack.folder, 'workers-')));
  afterAll(() => processes.stopAll());

  const start = async (name: string, config: (values: ReturnType<typeof engineValues>) => string) => {
    const values = engineValues('insecure');
    const coordinator = new URL(stack.engines.insecure);
    const port = await freePort();
    const text = config({
      ...values,
      fullnameOverride: coordinator.hostname,
      service: { port },
      coordinator: { ...values.coordinator, maxMemoryPerNode: '300MB' },
    }).replace(/^discovery.uri=.*$/m, `discovery.uri=${coordinator.origin}`);
    const node = await launchNode(processes, stack.parts, { name, config: text, issuer: stack.issuer });
    return { node, url: `http://127.0.0.1:${port}` };
  };

  it('starts with its part of the values', async () => {
    const { node, url } = await start('worker', workerConfig);
    await untilStarted(node, url);
    await node.stop();
  });

  it('does not start with the properties that are the coordinator’s, where they stand in what both roles share', async () => {
    const { node } = await start('misplaced', (values) => {
      const jwt = values.server.coordinatorExtraConfig.split('\n').filter((line) => line.includes('.jwt.'));
      return workerConfig({
        ...values,
        additionalConfigProperties: [...values.additionalConfigProperties, ...jwt],
      });
    });

    expect((await node.ended).exitCode).not.toBe(0);
    expect(readFileSync(node.log, 'utf8')).toMatch(
      /Configuration property 'http-server\.authentication\.jwt\.key-file' was not used/,
    );
  });
});
