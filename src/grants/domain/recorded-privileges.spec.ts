import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PRIVILEGES } from '../../trino-rules/model/privilege.js';

/** Constraints that name privileges, as the migrations leave them. */
const CONSTRAINTS = ['grants_privileges_known', 'policies_parts_of_kind'];

const migrations = readdirSync('migrations')
  .sort()
  .map((file) => readFileSync(join('migrations', file), 'utf8'))
  .join('\n');

describe('the database', () => {
  it.each(CONSTRAINTS)('takes every privilege of the model: %s', (constraint) => {
    const [, last = ''] = migrations.split(new RegExp(`constraint ${constraint} check`, 'i')).slice(-2);
    const [, listed = ''] = /privileges <@ array\[([^\]]+)\]/i.exec(last) ?? [];
    const privileges = [...listed.matchAll(/'(\w+)'/g)].map(([, privilege]) => privilege);

    expect(PRIVILEGES.filter((privilege) => !privileges.includes(privilege))).toEqual([]);
  });
});
