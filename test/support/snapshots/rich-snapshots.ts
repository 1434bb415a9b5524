import type { PolicyPrincipal } from '../../../src/trino-rules/model/principal.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { aSnapshot, NOW } from './snapshot-builder.js';

/** Uses every feature of the access model. */
export function snapshotOfEveryFeature(): Snapshot {
  const clerks = ['clerk', ...Array.from({ length: 14 }, (_, i) => `clerk${i + 1}`)];
  const ivy = { type: 'user', id: 1 } as const;
  const builder = aSnapshot().with({
    serviceAccounts: ['service-account-grantline', 'service-account-etl'],
    sessionProperties: ['query_max_run_time'],
  });
  builder.user('ivy').may('SELECT', 'hr.staff').user('nia');
  builder.group('readers', ['ana', 'bo', 'eve.x', 'Zed', 'gus']).may('SELECT', 'sales.eu').deactivated('gus');
  builder.group('writers', ['bo', 'cy']).may('INSERT', 'sales.eu.orders');
  builder.user('rex').may('SELECT', 'sales.eu.orders', { revokedAt: NOW });
  builder.user('lou').may('SELECT', 'sales.eu.orders', { expiresAt: NOW });
  builder.user('dee').may('SELECT', 'sales.eu.orders', { expiresAt: new Date(NOW.getTime() + 1) });
  builder.engine('bi-tool').may('SELECT', 'sales.eu.orders');
  builder.everyone().seesOnly('sales.eu', "region = 'EU'").seesOnly('sales.eu.visits', "day > DATE '2026-01-01'");
  builder.everyone().doesNotSee('sales.eu.payments', 'iban');

  builder.user('fay').may('SELECT, INSERT, OWNERSHIP, GRANT_SELECT', 'hr').may('INSERT', 'hr.vault.keys');
  builder.everyone().mayNot('hr.vault').mayNot('hr.staff.salaries', 'SELECT', ivy);
  builder.everyone().doesNotSee('hr.staff', 'ssn').doesNotSee('hr.staff.people', 'iban');
  builder.everyone().seesMasked('hr', 'name', "'***'").seesMasked('hr.staff.people', 'name', 'upper(name)');
  builder.group('auditors', ['fay', 'ivy']).seesMasked('hr.staff', 'phone', "'+49'");
  builder.group('interns', ['fay']).seesMasked('hr.staff', 'phone', 'NULL');

  builder.group('clerks', clerks).may('SELECT', 'lake.raw');
  builder.user('ana').may('SELECT', 'lake').everyone().mayNot('lake.secret');
  builder.group('loaders', ['pam', 'quy', 'rob']).may('INSERT', 'lake.raw.t1').may('INSERT', 'lake.raw.t2');
  builder.user('pam').may('INSERT', 'lake.raw.t3').user('sid').may('INSERT', 'lake.raw.t2');
  builder.user('bo').may('SELECT', 'grantline.public');
  return builder.snapshot();
}

/** Functions and procedures on each kind of node, denied, and outweighed by restrictions of data. */
export function snapshotOfRoutines(): Snapshot {
  const builder = aSnapshot();
  builder.group('runners', ['ana', 'bo', 'cy']).may('EXECUTE_FUNCTION', 'pg').may('CALL_PROCEDURE', 'pg.etl');
  builder.user('ana').mayNot('pg.etl', 'EXECUTE_FUNCTION').may('EXECUTE_FUNCTION', 'pg.etl.sum_up()');
  builder.user('bo').may('EXECUTE_FUNCTION', 'lake.fn.twice()').mayNot('pg.etl.load()');
  builder.user('dee').may('EXECUTE_FUNCTION, CALL_PROCEDURE', 'pg').seesOnly('pg.etl.runs', 'true');
  builder.user('eve').may('EXECUTE_FUNCTION', 'pg').mayNot('pg.hr', 'SELECT').may('SELECT', 'lake.fn');
  builder.user('fay').may('SELECT', 'lake').may('CALL_PROCEDURE', 'lake.fn.twice()');
  builder.engine('etl').may('CALL_PROCEDURE', 'pg.etl.load()');
  builder.user('gia').may('GRANT_EXECUTE_FUNCTION', 'pg.etl').user('hugo').may('GRANT_EXECUTE_FUNCTION', 'pg');
  builder.mayNot('pg.etl', 'GRANT_EXECUTE_FUNCTION').mayNot('pg.etl.sum_up()', 'EXECUTE_FUNCTION');
  return builder.snapshot();
}

/** Tables of one schema that differ in one feature each, so that confusing two of them is detected. */
export function snapshotOfSimilarTables(): Snapshot {
  const group = (id: number) => ({ type: 'group', id }) as const;
  const builder = aSnapshot().with({
    serviceAccounts: ['service-account-grantline', 'service-account-etl'],
    readableCatalogs: ['tpch', 'grantline'],
  });
  const odd = ['k1', 'k3', 'k5', 'k7', 'k9', 'odd_1', 'odd_1_b'];
  builder.group('readers', ['ana', 'bo', 'cy', 'dan']).may('SELECT', 'shop.eu');
  builder.group('odd', odd).may('SELECT', 'shop.eu').may('INSERT', 'shop.eu.orders').may('INSERT', 'shop.eu.returns');
  builder.everyone().doesNotSee('shop.eu.hidden_1', 'x').doesNotSee('shop.eu.hidden_2', 'y');
  builder.everyone().seesOnly('shop.eu.filtered_1', 'a = 1').seesOnly('shop.eu.filtered_2', 'a = 2');
  builder.everyone().seesMasked('shop.eu.masked_1', 'm', '1').seesMasked('shop.eu.masked_2', 'm', '2');
  builder
    .everyone()
    .seesMasked('shop.eu.masked_3', 'n', '1')
    .seesMasked('shop.eu.both', 'h', '1')
    .doesNotSee('shop.eu.both', 'h');
  builder.everyone().seesMasked('shop.eu', 'near', 'schema').seesMasked('shop.eu.near', 'near', 'table');
  builder.everyone().mayNot('shop.eu.closed').mayNot('shop.eu.closed_but_one', 'SELECT', group(1));
  builder.everyone().mayNot('shop.eu.closed_but_ana', 'SELECT', { type: 'user', id: 1 });
  builder.user('gil').may('GRANT_SELECT', 'shop.us').mayNot('shop.us', 'GRANT_SELECT');
  builder.user('hal').may('SELECT, OWNERSHIP', 'shop').mayNot('shop.us', 'OWNERSHIP').may('UPDATE', 'shop.eu');
  builder.user('ida').may('OWNERSHIP', 'shop.us').user('ana').may('SELECT', 'shop.us').may('INSERT', 'shop.us.orders');
  builder.engine('service-account-etl').may('SELECT', 'shop.us').engine('bi-tool').may('INSERT', 'shop.us.orders');
  builder.group('closers', ['bo', 'cy', 'hal']).may('SELECT', 'shop').mayNot('shop.eu.orders').mayNot('shop.us.orders');
  // Mia and Ned may share what is left without INSERT on both tables, and Ned alone needs it on both.
  builder.group('movers', ['mia', 'ned']).may('SELECT, INSERT', 'shop.de').mayNot('shop.de.archive', 'INSERT');
  builder.user('mia').may('DELETE', 'shop.de.incoming').user('ned').mayNot('shop.de.incoming', 'INSERT');
  return builder.snapshot();
}

/** Owners, some of whom a restriction applies to. */
export function snapshotOfOwners(): Snapshot {
  const builder = aSnapshot();
  builder.group('owners', ['una', 'vic']).may('OWNERSHIP', 'yard').user('wim').may('SCHEMA_OWNERSHIP', 'yard.east');
  builder.user('xia').may('TABLE_OWNERSHIP, SELECT', 'yard.east').may('SCHEMA_OWNERSHIP', 'yard.west');
  builder.user('una').seesOnly('yard.east.gates', 'open').user('vic').doesNotSee('yard.west', 'key');
  builder.user('wim').mayNot('yard.east.walls', 'SELECT').user('xia').seesMasked('yard.east.gates', 'key', 'NULL');
  return builder.snapshot();
}

/** Rights beside data: each is held by somebody without the others, and denied to somebody who was granted it. */
export function snapshotOfRights(): Snapshot {
  const engine = { engine: true } as const;
  const builder = aSnapshot().user('ana').may('SELECT', 'sales').may('VIEW_QUERIES', engine);
  builder.user('bo').may('VIEW_QUERIES, KILL_QUERIES', engine).mayNot(engine, 'VIEW_QUERIES');
  builder.user('cy').may('READ_SYSTEM_INFORMATION, WRITE_SYSTEM_INFORMATION', engine);
  builder.user('dee').may('KILL_QUERIES', engine, { expiresAt: NOW }).may('VIEW_QUERIES', engine, { revokedAt: NOW });
  builder.engine('warden').may('KILL_QUERIES', engine);
  builder.group('operators', ['eve', 'fay', 'gus'], ['prometheus', 'old_bot']).deactivated('gus');
  builder.may('KILL_QUERIES, READ_SYSTEM_INFORMATION', engine);
  builder.user('fay').mayNot(engine);
  const killQuery = 'system.runtime.kill_query()';
  builder.user('ivy').may('KILL_QUERIES', engine).mayNot(killQuery).user('jan').may('CALL_PROCEDURE', killQuery);
  builder.engine('prometheus').mayNot(engine, 'KILL_QUERIES').engine('unknown').mayNot(engine);
  builder.user('kit').may('EXECUTE_QUERIES', engine).user('lyn').may('EXECUTE_QUERIES', engine);
  builder.mayNot(engine, 'EXECUTE_QUERIES');
  return builder.snapshot();
}

/** Rights over the queries of some: of a group, of one, of everyone; beside a right over all; and what denies take of either. */
export function snapshotOfQueries(): Snapshot {
  const of = (queries: PolicyPrincipal) => ({ queries });
  const [everyone, team] = [of({ type: 'everyone' }), of({ type: 'group', id: 1 })];
  const nightly = of({ type: 'engine', name: 'nightly' });
  const builder = aSnapshot().group('team', ['ana', 'bo', 'cy'], ['hourly']).deactivated('cy').may('SELECT', 'sales');
  builder.group('nobody', []).user('lea').may('VIEW_QUERIES, KILL_QUERIES', team);
  builder
    .user('mia')
    .may('VIEW_QUERIES', team)
    .may('KILL_QUERIES', nightly)
    .user('ned')
    .may('EXECUTE_FUNCTION', 'sales')
    .may('KILL_QUERIES', team);
  builder
    .mayNot(of({ type: 'user', id: 1 }), 'KILL_QUERIES')
    .user('ana')
    .may('VIEW_QUERIES', of({ type: 'user', id: 2 }));
  builder.group('desk', ['oda', 'pia', 'ana'], ['warden']).may('VIEW_QUERIES, KILL_QUERIES', { engine: true });
  builder
    .mayNot(nightly)
    .mayNot(of({ type: 'group', id: 3 }), 'KILL_QUERIES')
    .user('pia')
    .mayNot(everyone, 'VIEW_QUERIES');
  builder.user('quy').may('KILL_QUERIES', everyone).mayNot(team).user('rex').may('KILL_QUERIES', team).mayNot(everyone);
  builder
    .user('sid')
    .may('KILL_QUERIES', of({ type: 'group', id: 2 }))
    .user('tom')
    .may('KILL_QUERIES', team);
  builder.mayNot({ engine: true }).user('uma').may('KILL_QUERIES', team, { expiresAt: NOW });
  builder.user('vic').may('KILL_QUERIES', team).mayNot('system.runtime.kill_query()').engine('watcher');
  builder.may('VIEW_QUERIES', everyone, { revokedAt: NOW }).may('VIEW_QUERIES', nightly).everyone();
  builder.mayNot(of({ type: 'user', id: 3 }), 'VIEW_QUERIES', { type: 'user', id: 4 });
  return builder.snapshot();
}

/** Reading `system`: by grants on it and on its schemas, and by reaching something elsewhere; and what denies take of either. */
export function snapshotOfSystem(): Snapshot {
  const builder = aSnapshot().user('ana').may('SELECT', 'system.runtime');
  builder.group('watchers', ['bo', 'cy', 'eve']).may('SELECT', 'system').user('cy').mayNot('system.runtime');
  builder.user('eve').mayNot('system').user('joe').may('SELECT', 'system.jdbc', { expiresAt: NOW });
  builder.user('dee').may('SELECT, OWNERSHIP', '').user('fay').may('SELECT', 'system.metadata').mayNot('');
  builder.user('kai').may('SELECT', '').mayNot('system').user('gus').may('SELECT', 'sales').mayNot('system.jdbc');
  builder.user('hal').may('SELECT', 'zoo').mayNot('system');
  builder.user('ida').may('KILL_QUERIES', { engine: true }).mayNot('system').user('lea').mayNot('system.jdbc');
  builder.engine('bot').may('SELECT', 'system.runtime').everyone().may('SELECT', 'shared').mayNot('shared', 'INSERT');
  builder.user('nat').may('SELECT', 'system.runtime.nodes').mayNot('system.jdbc.types').mayNot('system.metadata');
  builder.group('nobody', ['ana', 'fay', 'joe', 'eve', 'ida', 'lea', 'nat']).mayNot('shared');
  return builder.snapshot();
}

/** What a restriction takes beside the name that it is on: companions, columns of the storage, writing, procedures, ownership. */
export function snapshotOfDoors(): Snapshot {
  const ALL = 'SELECT, INSERT, DELETE, UPDATE';
  const builder = aSnapshot().with({ externalTableCatalogs: ['hive'], rawColumnCatalogs: ['kafka'] });
  builder.group('analysts', ['ana', 'bo']).may('SELECT', 'ice.pay');
  builder.mayNot('ice.pay.salaries', 'SELECT').mayNot('ice.pay.bonuses', 'SELECT').user('cy').may('SELECT', 'ice.pay');
  builder
    .user('ana')
    .may('SELECT, INSERT', 'ice.pay.salaries$files')
    .user('cy')
    .may('INSERT', 'ice.pay.salaries$files');
  builder.user('dee').may(ALL, 'ice.pay').seesOnly('ice.pay.orders', "region = 'EU'");
  builder.user('eve').may(ALL, 'ice.pay').seesMasked('ice.pay.orders', 'email', 'NULL');
  builder.user('fay').may(ALL, 'ice.pay').seesMasked('ice.pay.orders', 'ssn', 'NULL').doesNotSee('ice.pay', 'ssn');
  builder.user('gus').may('SELECT, INSERT', 'ice.pay').mayNot('ice.pay.orders', 'INSERT');
  builder.user('hal').may('SELECT, DELETE', 'ice.log').user('ida').may('SELECT, SCHEMA_OWNERSHIP', 'ice.log');
  builder
    .user('jan')
    .may('SELECT', 'vault.s.t$files')
    .seesOnly('vault.s.t', 'a = 1')
    .user('kit')
    .may('SELECT', 'vault');
  builder.user('lea').may('SELECT', 'ice.nest').may('INSERT', 'ice.nest.a$b$c').seesOnly('ice.nest.a$b', 'a = 1');
  builder.user('max').may('SELECT', 'ice.nest').may('INSERT', 'ice.nest.a$b$c').seesOnly('ice.nest.a', 'a = 1');
  builder.group('staff', ['mia', 'ned']).may('SELECT', 'hr.staff').user('mia').seesMasked('hr.staff', 'name', 'NULL');
  builder.group('heads', ['oda', 'pia']).may('SELECT', 'crm').user('oda').seesOnly('crm', 'a = 1');
  builder.user('sue').may('OWNERSHIP', 'hive.mine').mayNot('hive.other.t', 'SELECT');
  builder.user('tom').may('OWNERSHIP', 'hive.mine').mayNot('hive.other.t', 'INSERT').mayNot('crm.other.t', 'SELECT');
  builder.user('uma').may('OWNERSHIP', 'ice.mine').mayNot('ice.pay.salaries', 'SELECT');
  builder.user('vic').may('SELECT', 'kafka.topics').seesMasked('kafka.topics.t', 'a', 'NULL');
  builder.user('wim').may('SELECT', 'ice.log').seesMasked('ice.log.t', 'a', 'NULL').mayNot('ice.log.u');
  builder.user('nat').may('INSERT', 'ice.pay').mayNot('ice.pay.bonuses', 'SELECT');
  return builder.snapshot();
}

/** Where those who only read may run table procedures, some of them everywhere. */
export function snapshotOfMaintainers(): Snapshot {
  const builder = aSnapshot().with({ readersMaintain: true }).user('ana').may('SELECT', 'ice.pay');
  builder.group('chiefs', ['quy', 'rex']).may('SELECT', '').user('quy').doesNotSee('', 'ssn');
  return builder.snapshot();
}

/** Engine principals that act as others; those who are left out, and what takes it. */
export function snapshotOfActing(): Snapshot {
  const as = (named: PolicyPrincipal) => ({ as: named });
  const [everyone, viewers] = [as({ type: 'everyone' }), as({ type: 'group', id: 1 })];
  const builder = aSnapshot()
    .group('viewers', ['ana', 'bo', 'cy', 'x$y'], ['bot'])
    .deactivated('cy')
    .may('SELECT', 'sales');
  builder
    .user('dee')
    .user('eve')
    .user('fay')
    .may('EXECUTE_FUNCTION', 'sales')
    .engine('dash')
    .may('IMPERSONATE', viewers);
  builder
    .engine('board')
    .may('IMPERSONATE', everyone)
    .may('IMPERSONATE', as({ type: 'engine', name: 'dash' }));
  builder
    .mayNot(as({ type: 'user', id: 1 }))
    .engine('twin')
    .may('IMPERSONATE', viewers);
  builder
    .engine('past')
    .may('IMPERSONATE', everyone, { expiresAt: NOW })
    .may('IMPERSONATE', viewers, { revokedAt: NOW });
  builder
    .engine('etl')
    .may('INSERT', 'lake')
    .engine('muted')
    .may('IMPERSONATE', as({ type: 'user', id: 5 }))
    .mayNot(everyone);
  builder
    .engine('named')
    .mayNot(viewers)
    .engine('list')
    .may('IMPERSONATE', as({ type: 'user', id: 2 }));
  builder
    .engine('list')
    .may('IMPERSONATE', as({ type: 'user', id: 6 }))
    .engine('alone')
    .may('IMPERSONATE', as({ type: 'engine', name: 'named' }));
  builder.everyone().mayNot(as({ type: 'engine', name: 'bot' }), undefined, { type: 'engine', name: 'dash' });
  return builder.snapshot();
}

/** Grants and policies on everything and to everyone, and what ends them. */
export function snapshotOfEverything(): Snapshot {
  const builder = aSnapshot();
  const cy = { type: 'user', id: 3 } as const;
  builder.group('analysts', ['ana', 'bo'], ['bi-tool']).may('SELECT', '');
  builder.user('cy').may('SELECT, INSERT, OWNERSHIP', '').mayNot('hr', 'OWNERSHIP').mayNot('sales.eu', 'OWNERSHIP');
  builder.user('dee').may('GRANT_SELECT', '');
  for (const catalog of ['sales', 'hr', 'lake', 'tpch', 'shared']) builder.mayNot(catalog);
  builder.user('eli').may('INSERT', 'sales.eu.orders').engine('etl').may('OWNERSHIP', 'hr.staff');
  builder.everyone().may('SELECT', 'shared.open').doesNotSee('', 'ssn', cy).seesMasked('', 'name', "'*'", cy);
  builder.group('limited', ['bo', 'eli']).seesOnly('', "region = 'EU'").seesMasked('sales', 'name', 'upper(name)');
  builder.engine('unknown').may('SELECT', 'grantline');
  return builder.snapshot();
}
