import { setPriority } from 'node:os';
import { PERSONS } from './attack-persons.js';
import { sentBytes } from './attack-sending.js';
import { type Attack, ATTACKS } from './attacks.js';

/**
 * `attack-process.ts NAME PORT PORT TOKEN`: attacks until SIGTERM, and says how many bytes a second it sent. In a process of its own,
 * of low priority, so that it takes no time from what measures and from what is attacked.
 */
const [name = '', api, operations, token = ''] = process.argv.slice(2);
setPriority(10);
const begun = performance.now();
process.once('SIGTERM', () => {
  process.stdout.write(`${(sentBytes() * 1000) / (performance.now() - begun)}\n`, () => process.exit());
});
const attacks: Partial<Record<string, Attack>> = { ...ATTACKS, ...PERSONS };
await attacks[name]?.run({ api: Number(api), operations: Number(operations), token });
