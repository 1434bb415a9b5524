import { ATTACKS } from './attacks.js';

/** `attack-process.ts NAME PORT PORT`: attacks until it is killed, in a process of its own, so that it takes no time from what measures. */
const [name = '', api, operations] = process.argv.slice(2);
await ATTACKS[name]?.run({ api: Number(api), operations: Number(operations) });
