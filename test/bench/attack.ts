import { parseArgs } from 'node:util';
import { measureAttack } from './attack-http.js';
import { measureSignInFlood } from './attack-sign-in.js';
import { fillGrants, PERSONS } from './attack-persons.js';
import { ATTACKS } from './attacks.js';
import { measureParts } from './auth-parts.js';

/**
 * npm run bench:attack [-- chunks metrics own-explain sign-in]: what an attack costs others, as ratios of the same figure at rest
 * (docs/benchmarks.md).
 */
const { positionals: asked } = parseArgs({ allowPositionals: true });
await measureParts(
  {
    ...Object.fromEntries(
      Object.entries(ATTACKS).map(([name, attack]) => [name, (auth) => measureAttack(auth, name, attack)]),
    ),
    ...Object.fromEntries(
      Object.entries(PERSONS).map(([name, attack]) => [
        name,
        async (auth) => {
          await fillGrants(auth.postgres.migrationUrl);
          return measureAttack(auth, name, attack);
        },
      ]),
    ),
    'sign-in': measureSignInFlood,
  },
  asked,
);
