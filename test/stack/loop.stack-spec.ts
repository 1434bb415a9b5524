import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';

import { FAMILIES } from './loop/statement.js';
import { LOOP, REPAIR } from './loop/steps.js';
import { Deployment } from './loop/deployment.js';
import { emptyRules } from './running/config-map.js';
import { MODES } from './running/engine.js';
import { startGrantline } from './running/grantline.js';
import { Processes } from './running/processes.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const CASES = MODES.flatMap((mode) => FAMILIES.map((family) => ({ mode, family }))).map((each, i) => ({
  ...each,
  steps: i === 0 ? [...LOOP, REPAIR] : LOOP,
}));

describe.each(CASES)('the loop, $mode, $family', ({ mode, family, steps }) => {
  const name = `grantline-${mode}-${family}`;
  const processes = new Processes(mkdtempSync(join(stack.folder, `${name}-`)));
  let deployment: Deployment;

  beforeAll(async () => {
    await emptyRules(kubectlOf(stack));
    deployment = new Deployment(stack, await startGrantline(processes, stack, { name, mode, family }), mode, family);
  });
  afterAll(() => processes.stopAll());

  it.each(steps)('$title', async ({ run }) => {
    await run(deployment);
  });
});
