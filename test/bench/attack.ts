import { parseArgs } from 'node:util';
import { measureAttack } from './attack-http.js';
import { measureSignInFlood } from './attack-sign-in.js';
import { ATTACKS } from './attacks.js';
import { measureParts } from './auth-parts.js';

/**
 * npm run bench:attack [-- chunks metrics sign-in]: what an attack costs others, as ratios of the same figure at rest
 * (docs/benchmarks.md).
 */
const { positionals: asked } = parseArgs({ allowPositionals: true });
await measureParts(
  {
    ...Object.fromEntries(Object.keys(ATTACKS).map((name) => [name, (auth) => measureAttack(auth, name)])),
    'sign-in': measureSignInFlood,
  },
  asked,
);
