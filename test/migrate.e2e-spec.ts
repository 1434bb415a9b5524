import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BuiltCheckout, shellBlocks, timeless } from './support/service/built-checkout.js';

const BLOCKS = shellBlocks(readFileSync('docs/migrate.md', 'utf8'));

describe('the walk in docs/migrate.md', () => {
  let checkout: BuiltCheckout;
  beforeAll(() => {
    checkout = new BuiltCheckout();
  });
  afterAll(() => rmSync(checkout.folder, { recursive: true }));

  it('leads from the file of a company to published rules, and nobody gains or loses anything', async () => {
    // What npx starts, as README's spec shows, in half the time.
    const commands = BLOCKS.map(({ commands }) => commands.replaceAll('npx --no -- grantline', 'node dist/main.js'));

    const outputs = await checkout.runBlocks(commands);

    for (const [index, { output }] of BLOCKS.entries()) {
      if (output !== null) expect(timeless(outputs[index] ?? '')).toContain(timeless(output));
    }
    const live = (name: string) => readFileSync(join(checkout.folder, '.data/acl', name), 'utf8');
    expect(outputs.join('')).toContain('TRINO_ACL_SYNC_APPLIED');
    expect(live('rules.json')).toBe(readFileSync(join(checkout.folder, 'compiled/rules.json'), 'utf8'));
    expect(live('rules.json.bak')).toBe(readFileSync('docs/examples/company-rules.json', 'utf8'));
  });
});
