import { existsSync, readdirSync } from 'node:fs';
import { codeInGuide } from '../support/service/operations-guide.js';

describe('the faults in docs/operations.md', () => {
  const specs = codeInGuide().filter((code) => /^test\/.*spec\.ts$/.test(code));

  it('are shown by specs that exist', () => {
    expect(specs.filter((spec) => !existsSync(spec))).toEqual([]);
  });

  it('are all that are tested', () => {
    expect(specs).toEqual(expect.arrayContaining(readdirSync('test/faults').map((name) => `test/faults/${name}`)));
  });
});
