import { parseArgs } from 'node:util';
import { measureParts } from './auth-parts.js';
import { measureMembers } from './scim-members.js';
import { measureSync } from './scim-sync.js';

/**
 * npm run bench:scim [-- sync members] [-- --users 10000 --groups 500 --rate 100]: what an identity provider's pushes cost. Figures and what
 * limits them: docs/benchmarks.md.
 */
const { positionals: asked, values } = parseArgs({
  allowPositionals: true,
  options: {
    users: { type: 'string', default: '10000' },
    groups: { type: 'string', default: '500' },
    rate: { type: 'string', default: '100' },
  },
});
const [users, groups, rate] = [Number(values.users), Number(values.groups), Number(values.rate)];

await measureParts(
  {
    sync: (auth) => measureSync(auth, { users, groups, rate }),
    members: (auth) => measureMembers(auth, users),
  },
  asked,
);
