import { aSnapshot } from '../../../test/support/snapshots/snapshot-builder.js';
import { decide } from './decision.js';
import { intentAt, hasAnyAccess } from './intent.js';
import type { Privilege } from './privilege.js';
import { catalogMode } from './rights.js';

it('finds what a column gives back that is hidden below its mask', () => {
  const ana = { type: 'user', id: 1 } as const;
  const masked = aSnapshot().user('ana').may('DELETE', '').seesMasked('', 'card', 'NULL');
  expect(hasAnyAccess(masked.snapshot(), ana)).toBe(false);
  const hidden = masked.doesNotSee('sales.eu', 'card').snapshot();
  expect([hasAnyAccess(hidden, ana), catalogMode(hidden, ana, 'sales')]).toEqual([true, 'all']);
  expect(catalogMode(hidden, ana, 'hr')).toBe('none');

  const raw = aSnapshot().user('ana').may('DELETE', '').seesMasked('', '_key', 'NULL');
  expect(hasAnyAccess(raw.snapshot(), ana)).toBe(false);
  expect(hasAnyAccess(raw.with({ rawColumnCatalogs: ['kafka'] }).snapshot(), ana)).toBe(true);

  const twice = aSnapshot().user('ana').may('INSERT', 'sales').seesMasked('sales', 'card', 'NULL');
  expect(hasAnyAccess(twice.snapshot(), ana)).toBe(false);
  const contradicting = twice.seesMasked('sales.eu', 'card', '0').seesMasked('sales.eu', 'card', '1').snapshot();
  expect([hasAnyAccess(contradicting, ana), catalogMode(contradicting, ana, 'sales')]).toEqual([true, 'all']);
});

describe('service accounts', () => {
  const account = { type: 'engine', name: 'service-account-grantline' } as const;
  const snapshot = aSnapshot().everyone().mayNot('lake').seesOnly('tpch', 'false').snapshot();

  it('follow the settings alone, untouched by policy', () => {
    expect(intentAt(snapshot, account, { catalog: 'lake', schema: 'new' })).toMatchObject({
      privileges: ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP', 'GRANT_SELECT'],
      filters: [],
    });
    expect(intentAt(snapshot, account, { catalog: 'tpch' })).toMatchObject({ privileges: ['SELECT'], filters: [] });
    expect(intentAt(snapshot, account, { catalog: 'sales' }).privileges).toEqual([]);
    expect(hasAnyAccess(snapshot, account)).toBe(true);
  });

  it('impersonate no user, except our own, which impersonates active users with access', () => {
    const people = aSnapshot()
      .user('ana')
      .may('SELECT', 'sales')
      .user('bo')
      .user('x$y')
      .may('SELECT', 'sales')
      .with({ serviceAccounts: ['service-account-grantline', 'etl'] });
    const became = (account: string, snapshot = people.snapshot()) =>
      snapshot.users
        .map(({ name }) => name)
        .filter((newUser) => {
          const question = { about: 'impersonation', newUser } as const;
          return decide(snapshot, { type: 'engine', name: account }, question).allowed;
        });

    expect(became('service-account-grantline')).toEqual(['ana']);
    const withoutFile = people.with({ rulesFile: false }).snapshot();
    expect(became('service-account-grantline', withoutFile)).toEqual(['ana', 'x$y']);
    expect(became('etl')).toEqual([]);
    expect(became('service-account-grantline', people.with({ impersonation: false }).snapshot())).toEqual([]);
  });
});

describe('the mode of a catalog', () => {
  const modeWith = (privilege: Privilege, path: string) => {
    const snapshot = aSnapshot().user('ana').may(privilege, path).snapshot();
    return catalogMode(snapshot, { type: 'user', id: 1 }, 'sales');
  };

  it('is read-only for readers, all for other privileges, none for all other users', () => {
    expect([
      modeWith('SELECT', 'sales.eu.orders'),
      modeWith('GRANT_SELECT', 'sales.eu.orders'),
      modeWith('SELECT', 'other'),
    ]).toEqual(['read-only', 'all', 'none']);
  });
});
