import { setPriority } from 'node:os';
import { ATTACKS } from './attacks.js';
import { sentBytes } from './attack-sending.js';

/**
 * `attack-process.ts NAME PORT PORT`: attacks until SIGTERM, and says how many bytes a second it sent. In a process of its own,
 * of low priority, so that it takes no time from what measures and from what is attacked.
 */
const [name = '', api, operations] = process.argv.slice(2);
setPriority(10);
const begun = performance.now();
process.once('SIGTERM', () => {
  process.stdout.write(`${(sentBytes() * 1000) / (performance.now() - begun)}\n`, () => process.exit());
});
await ATTACKS[name]?.run({ api: Number(api), operations: Number(operations) });
