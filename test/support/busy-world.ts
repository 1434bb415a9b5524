import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { aWorld, NOW } from './a-world.js';

/** Something of everything that the access model knows. */
export function aBusyWorld(): Snapshot {
  const clerks = ['clerk', ...Array.from({ length: 14 }, (_, i) => `clerk${i + 1}`)];
  const ivy = { type: 'user', id: 1 } as const;
  const world = aWorld().with({
    serviceAccounts: ['service-account-grantline', 'service-account-etl'],
    sessionProperties: ['query_max_run_time'],
  });
  world.person('ivy').may('SELECT', 'hr.staff').person('nia');
  world.group('readers', ['ana', 'bo', 'eve.x', 'Zed', 'gus']).may('SELECT', 'sales.eu').deactivated('gus');
  world.group('writers', ['bo', 'cy']).may('INSERT', 'sales.eu.orders');
  world.person('rex').may('SELECT', 'sales.eu.orders', { revokedAt: NOW });
  world.person('lou').may('SELECT', 'sales.eu.orders', { expiresAt: NOW });
  world.person('dee').may('SELECT', 'sales.eu.orders', { expiresAt: new Date(NOW.getTime() + 1) });
  world.engine('bi-tool').may('SELECT', 'sales.eu.orders');
  world.everyone().seesOnly('sales.eu', "region = 'EU'").seesOnly('sales.eu.visits', "day > DATE '2026-01-01'");
  world.everyone().doesNotSee('sales.eu.payments', 'iban');

  world.person('fay').may('SELECT, INSERT, OWNERSHIP, GRANT_SELECT', 'hr').may('INSERT', 'hr.vault.keys');
  world.everyone().mayNot('hr.vault').mayNot('hr.staff.salaries', 'SELECT', ivy);
  world.everyone().doesNotSee('hr.staff', 'ssn').doesNotSee('hr.staff.people', 'iban');
  world.everyone().seesMasked('hr', 'name', "'***'").seesMasked('hr.staff.people', 'name', 'upper(name)');
  world.group('auditors', ['fay', 'ivy']).seesMasked('hr.staff', 'phone', "'+49'");
  world.group('interns', ['fay']).seesMasked('hr.staff', 'phone', 'NULL');

  world.group('clerks', clerks).may('SELECT', 'lake.raw');
  world.person('ana').may('SELECT', 'lake').everyone().mayNot('lake.secret');
  world.group('loaders', ['pam', 'quy', 'rob']).may('INSERT', 'lake.raw.t1').may('INSERT', 'lake.raw.t2');
  world.person('pam').may('INSERT', 'lake.raw.t3').person('sid').may('INSERT', 'lake.raw.t2');
  world.person('bo').may('SELECT', 'grantline.public');
  return world.snapshot();
}

/** Tables of one schema that differ in one thing each, so that whoever takes one of them for another is found out. */
export function aWorldOfTwins(): Snapshot {
  const group = (id: number) => ({ type: 'group', id }) as const;
  const world = aWorld().with({
    serviceAccounts: ['service-account-grantline', 'service-account-etl'],
    readableCatalogs: ['tpch', 'grantline'],
  });
  const odd = ['k1', 'k3', 'k5', 'k7', 'k9', 'odd_1', 'odd_1_b'];
  world.group('readers', ['ana', 'bo', 'cy', 'dan']).may('SELECT', 'shop.eu');
  world.group('odd', odd).may('SELECT', 'shop.eu').may('INSERT', 'shop.eu.orders').may('INSERT', 'shop.eu.returns');
  world.everyone().doesNotSee('shop.eu.hidden_1', 'x').doesNotSee('shop.eu.hidden_2', 'y');
  world.everyone().seesOnly('shop.eu.filtered_1', 'a = 1').seesOnly('shop.eu.filtered_2', 'a = 2');
  world.everyone().seesMasked('shop.eu.masked_1', 'm', '1').seesMasked('shop.eu.masked_2', 'm', '2');
  world
    .everyone()
    .seesMasked('shop.eu.masked_3', 'n', '1')
    .seesMasked('shop.eu.both', 'h', '1')
    .doesNotSee('shop.eu.both', 'h');
  world.everyone().seesMasked('shop.eu', 'near', 'schema').seesMasked('shop.eu.near', 'near', 'table');
  world.everyone().mayNot('shop.eu.closed').mayNot('shop.eu.closed_but_one', 'SELECT', group(1));
  world.everyone().mayNot('shop.eu.closed_but_ana', 'SELECT', { type: 'user', id: 1 });
  world.person('gil').may('GRANT_SELECT', 'shop.us').mayNot('shop.us', 'GRANT_SELECT');
  world.person('hal').may('SELECT, OWNERSHIP', 'shop').mayNot('shop.us', 'OWNERSHIP').may('OWNERSHIP', 'shop.eu');
  world
    .person('ida')
    .may('OWNERSHIP', 'shop.us')
    .person('ana')
    .may('SELECT', 'shop.us')
    .may('INSERT', 'shop.us.orders');
  world.engine('service-account-etl').may('SELECT', 'shop.us').engine('bi-tool').may('INSERT', 'shop.us.orders');
  world.group('closers', ['bo', 'cy', 'hal']).may('SELECT', 'shop').mayNot('shop.eu.orders').mayNot('shop.us.orders');
  return world.snapshot();
}
