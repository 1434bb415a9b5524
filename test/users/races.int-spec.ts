import { sharedService } from '../support/service/service.js';
import { Transaction } from '../../src/platform/database/transaction.js';
import { PrincipalNames } from '../../src/users/principal-names.store.js';
import { UserStore } from '../../src/users/user.store.js';

const HASH = `$2b$04$${'a'.repeat(53)}`;

describe('many at once', () => {
  const service = sharedService({ DATABASE_POOL_MAX: '50' });
  let users: UserStore;
  let transaction: Transaction;
  let names: PrincipalNames;
  beforeAll(() => {
    users = service.app.get(UserStore);
    transaction = service.app.get(Transaction);
    names = service.app.get(PrincipalNames);
  });

  const register = (username: string, email: string, role: 'user' | 'admin' = 'user') =>
    transaction.run(async () => {
      const password = { hash: HASH, passwordExpiresAt: null };
      const [outcome] = await users.create([{ username, email, role, source: 'local', storedPassword: password }]);
      if (outcome === undefined) throw new Error('an account without an outcome');
      return outcome;
    });

  it('of fifty registrations of one name and one address in mixed case, exactly one succeeds', async () => {
    const spelled = (text: string, at: number) => (at % 2 === 0 ? text.toUpperCase() : text);

    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, at) => register(spelled('same', at), spelled('same@example.org', at % 3))),
    );

    expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1);
  });

  it('between registrations of a name and grants to it as an engine principal, one holder comes out', async () => {
    for (let round = 0; round < 20; round += 1) {
      const name = `contested_${round}`;
      const [account, ...claims] = await Promise.all([
        register(name.toUpperCase(), `${name}@example.org`),
        ...Array.from({ length: 4 }, () => names.claimEngineNames([name])),
      ]);

      const won = account.kind === 'created';
      expect(claims.map((held) => held.length)).toEqual(Array<number>(4).fill(won ? 1 : 0));
    }
  });

  it('claims of the same names in any order wait for each other in no circle', async () => {
    const engines = Array.from({ length: 50 }, (_, at) => `engine-${at}`);
    const orders = [engines, [...engines].reverse(), [...engines.slice(25), ...engines.slice(0, 25)]];

    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, at) => names.claimEngineNames(orders[at % 3] ?? [])),
    );

    expect(claims.every((held) => held.length === 0)).toBe(true);
  });

  it('of ten administrators taken away at once, one stays', async () => {
    const ids: number[] = [];
    for (let at = 0; at < 10; at += 1) {
      const made = await register(`admin_${at}`, `admin_${at}@example.org`, 'admin');
      if (made.kind === 'created') ids.push(made.account.id);
    }

    const outcomes = await Promise.all(
      ids.map((id, at) => users.change(id, at % 2 === 0 ? { role: 'user' } : { isActive: false })),
    );

    expect(outcomes.map(({ kind }) => kind).sort()).toEqual([
      ...Array<string>(9).fill('changed'),
      'last-administrator',
    ]);
  });
});
