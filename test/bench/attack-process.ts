import { ATTACKS } from './attacks.js';

/** `attack-process.ts NAME PORT`: attacks until it is killed, in a process of its own, so that it takes no time from what measures. */
const [name = '', port] = process.argv.slice(2);
await ATTACKS[name]?.(Number(port));
