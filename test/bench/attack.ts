import { parseArgs } from 'node:util';
import { measureAttack } from './attack-http.js';
import { measureSignInFlood } from './attack-sign-in.js';
import { measureParts, type Parts } from './auth-parts.js';

/** npm run bench:attack [-- bodies assets sign-in]: what an attack costs others, as ratios of the same figure at rest (docs/benchmarks.md). */
const { positionals: asked } = parseArgs({ allowPositionals: true });
const PARTS: Parts = {
  bodies: (auth) => measureAttack(auth, 'bodies of 1 MiB without a session'),
  assets: (auth) => measureAttack(auth, 'assets asked for and never read'),
  'sign-in': measureSignInFlood,
};

await measureParts(PARTS, asked);
