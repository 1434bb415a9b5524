import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const run = promisify(execFile);

it('the pinned versions of kubectl and both Helms run', async () => {
  const version = async (program: string, ...args: string[]) =>
    (await run(join(stack.parts.clusterTools, program), args)).stdout;
  expect(await version('kubectl', 'version', '--client')).toContain('v1.36.3');
  expect(await version('helm', 'version', '--short')).toContain('v4.2.3');
  expect(await version('helm3', 'version', '--short')).toContain('v3.17.3');
});

it('the server reports the pinned version', async () => {
  expect(await kubectlOf(stack)('version', '--output=json')).toContain('"gitVersion": "v1.36.3"');
});
