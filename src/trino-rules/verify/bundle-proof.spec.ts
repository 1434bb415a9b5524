import fc from 'fast-check';
import { runs } from '../../../test/support/landing.js';
import { anySnapshot } from '../../../test/support/snapshots/any-snapshot.js';
import { anyHostileSnapshot } from '../../../test/support/snapshots/hostile-snapshot.js';
import { snapshotOfActing } from '../../../test/support/snapshots/rich-snapshots.js';
import { scaled, SIZES, skewedSnapshot } from '../../../test/support/snapshots/skewed-snapshot.js';
import { aSnapshot, NOW } from '../../../test/support/snapshots/snapshot-builder.js';
import { dataText } from '../opa/archive.js';
import { bundleData } from '../opa/bundle-data.js';
import type { Snapshot } from '../model/snapshot.js';
import { checkBundle } from './bundle-proof.js';

const LATER = new Date(NOW.getTime() + 60_000);

describe("the proof of a bundle's data", () => {
  it('finds nothing in the data of any snapshot', () => {
    fc.assert(
      fc.property(anySnapshot(), fc.boolean(), (snapshot, rulesFile) => {
        expect(messages({ ...snapshot, settings: { ...snapshot.settings, rulesFile } })).toEqual([]);
      }),
      { numRuns: runs(300) },
    );
  });

  it('finds nothing with the strangest names and expressions', () => {
    fc.assert(
      fc.property(anyHostileSnapshot(), (snapshot) => {
        expect(messages(snapshot)).toEqual([]);
      }),
      { numRuns: runs(60) },
    );
  });

  it('finds nothing in the data of a company', () => {
    expect(messages(skewedSnapshot(scaled(SIZES.enterprise, 0.1), 'real-like'))).toEqual([]);
  });

  it('names the user, the node and the right', () => {
    const snapshot = aSnapshot().group('readers', ['ana', 'bo']).may('SELECT', 'sales.eu.orders').snapshot();

    expect(messages(snapshot, ['"orders":"S"', '"orders":"SI"'])).toEqual([
      'ana (and 1 more) may not INSERT into sales.eu.orders, but the data gives it',
    ]);
    expect(messages(snapshot, ['"orders":"S"', '"orders":""'])).toEqual([
      'ana (and 1 more) may SELECT from sales.eu.orders, but the data does not say so',
    ]);
  });

  it.each(Object.entries(faults()))('finds data that %s', (_, { snapshot, from, to, found }) => {
    expect(messages(snapshot, [from, to]).join('\n')).toMatch(found);
  });
});

interface Fault {
  snapshot: Snapshot;
  from: string;
  to: string;
  found: RegExp;
}

function faults(): Record<string, Fault> {
  const table = () => aSnapshot().user('ana').may('SELECT', 'sales.eu.orders');
  const lapsing = aSnapshot().engine('etl').may('SELECT', 'sales.eu', { expiresAt: LATER }).snapshot();
  const shared = () =>
    aSnapshot().user('ana').may('OWNERSHIP, EXECUTE_FUNCTION', 'sales').seesOnly('sales.us.a', 'a = 1');
  const oddNames = aSnapshot().user('x$y').may('SELECT', 'sales');
  const end = String(LATER.getTime());
  return {
    'gives a stranger something': {
      ...{ snapshot: table().snapshot(), from: '"users":{', to: '"users":{"eve":{"k":["uana"]},' },
      found: /^eve may not SELECT from sales\.eu\.orders/,
    },
    'takes a membership': {
      snapshot: aSnapshot().group('g', ['ana']).may('SELECT', 'sales').snapshot(),
      ...{ from: '["uana","g1","*"]', to: '["uana","*"]', found: /^ana may SELECT from sales/ },
    },
    'gives a deactivated account its rights back': {
      snapshot: aSnapshot().user('ana').may('SELECT', 'sales').deactivated('ana').snapshot(),
      ...{ from: '"o":["uana","*"]', to: '"k":["uana","*"]', found: /^ana may not SELECT/ },
    },
    'lets a right lapse later': {
      snapshot: lapsing,
      from: `"eu":{"":["",{"S":${end}`,
      to: `"eu":{"":["",{"S":${end}0`,
      found: /moment .*etl.*"S"/,
    },
    'lets a right never lapse': {
      ...{ snapshot: lapsing, from: `"grants":{"uetl":{"sales":{"eu":{"":["",{"S":${end}}]}}}}` },
      ...{ to: '"grants":{"uetl":{"sales":{"eu":{"":"S"}}}}', found: /^etl may not SELECT/m },
    },
    'lets everyone have a member for too long': {
      snapshot: lapsing,
      from: `"u":${end}`,
      to: `"u":${end}0`,
      found: /moment .*etl/,
    },
    'shows a schema for too long': {
      ...{ snapshot: lapsing, from: `"sales":{"":{"l":["",{"S":${end}}]}}`, to: '"sales":{"":{"l":"S"}}' },
      found: /^etl has nothing in sales, but the data shows it/m,
    },
    'lacks an exception': {
      snapshot: table().everyone().seesOnly('sales.eu.orders', 'a = 1', { type: 'user', id: 1 }).snapshot(),
      ...{ from: ',"x":{"uana":true}', to: '', found: /^ana is not restricted in the catalog sales/m },
    },
    'names an exception without its flag': {
      snapshot: table().everyone().seesOnly('sales.eu.orders', 'a = 1', { type: 'user', id: 1 }).snapshot(),
      ...{ from: '"x":{"uana":true}', to: '"x":{"uana":false}', found: /policies in another form/ },
    },
    'closes a catalog by something else than a flag': {
      ...{
        snapshot: table().snapshot(),
        from: '"closed":{',
        to: '"closed":{"sales":1,',
        found: /closed in another form/,
      },
    },
    'has a field that the policy does not read': {
      ...{
        snapshot: table().snapshot(),
        from: '"closed":{',
        to: '"opened":{},"closed":{',
        found: /opened in another form/,
      },
    },
    'lacks a field': {
      ...{
        snapshot: table().snapshot(),
        from: '"own":"service-account-grantline",',
        to: '',
        found: /own in another form/,
      },
    },
    'has another filter': {
      snapshot: table().seesOnly('sales.eu.orders', 'a = 1').snapshot(),
      ...{ from: 'a = 1', to: 'a = 2', found: /^ana may SELECT only those rows .* \(a = 1\)/m },
    },
    'has another mask': {
      snapshot: table().seesMasked('sales.eu.orders', 'ssn', 'NULL').snapshot(),
      ...{ from: '"e":"NULL"', to: '"e":"ssn"', found: /^ana may SELECT the column ssn .* only as NULL/m },
    },
    'shows a column': {
      snapshot: table().doesNotSee('sales.eu.orders', 'ssn').snapshot(),
      ...{ from: '"c":"ssn"', to: '"c":"sin"', found: /^ana may not SELECT the column ssn/m },
    },
    'shows a column of the storage': {
      snapshot: table().doesNotSee('sales.eu.orders', 'ssn').snapshot(),
      ...{ from: '"$path"', to: '"$pith"', found: /^ana may not SELECT the column \$path/m },
    },
    'opens companions': {
      snapshot: aSnapshot().user('ana').may('SELECT', 'sales.eu').seesOnly('sales.eu.orders', 'a = 1').snapshot(),
      ...{
        from: '"k":"f","l":"UDOT","r":true',
        to: '"k":"f","l":"UDOT"',
        found: /^ana may not SELECT from sales\.eu\.orders\$…/m,
      },
    },
    'gives ownership beside a restriction': {
      snapshot: aSnapshot().user('ana').may('OWNERSHIP', 'sales.eu').seesOnly('sales.eu.orders', 'a = 1').snapshot(),
      ...{ from: '"l":"O"', to: '"l":""', found: /^ana may not have OWNERSHIP of the schema sales\.eu/m },
    },
    'gives ownership over shared files': {
      snapshot: shared()
        .with({ externalTableCatalogs: ['sales'] })
        .snapshot(),
      ...{ from: '"l":"OTFHP"', to: '"l":"FHP"', found: /^ana may not have OWNERSHIP of sales/m },
    },
    'gives routines beside a restriction': {
      ...{ snapshot: shared().snapshot(), from: 'FHP', to: 'HP', found: /^ana may not EXECUTE the function sales/m },
    },
    'lets a restricted user name files': {
      ...{
        snapshot: shared().snapshot(),
        from: 'FHP","r":true',
        to: 'FHP"',
        found: /^ana is restricted in the catalog sales/m,
      },
    },
    'hides a schema': {
      ...{
        snapshot: table().snapshot(),
        from: '"eu":{"l":"S"}',
        to: '"eu":{}',
        found: /^ana has something in sales\.eu/m,
      },
    },
    'shows a schema under a deny': {
      snapshot: table().mayNot('sales.eu.orders').snapshot(),
      ...{ from: '"eu":{"n":["orders"]}', to: '"eu":{"l":"S"}', found: /^ana has nothing in sales\.eu/m },
    },
    'opens the metadata catalog': {
      snapshot: aSnapshot().user('ana').may('SELECT', '').snapshot(),
      ...{ from: '"closed":{"grantline":true}', to: '"closed":{}', found: /^ana may not SELECT from grantline/m },
    },
    'gives service accounts a catalog': {
      ...{ snapshot: table().snapshot(), from: '"lake":"SIUDGOT"', to: '"lake":"SIUDGOT","sales":"S"' },
      found: /^service-account-grantline may not SELECT from sales/m,
    },
    'makes a user a service account': {
      ...{
        snapshot: table().snapshot(),
        from: '"services":{',
        to: '"services":{"ana":true,',
        found: /^ana may not INSERT into lake/m,
      },
    },
    'lets another account become people': {
      snapshot: table()
        .with({ serviceAccounts: ['service-account-grantline', 'etl'] })
        .snapshot(),
      ...{ from: '"own":"service-account-grantline"', to: '"own":"etl"', found: /^etl may not impersonate ana/m },
    },
    'lets people become others': {
      snapshot: snapshotOfActing(),
      ...{ from: '"i":8640000000000000,', to: '', found: /may not impersonate/ },
    },
    'lets our account become a user whose name a rules file cannot hold': {
      snapshot: oddNames.snapshot(),
      ...{
        from: '["ux$y","*"],"z":true',
        to: '["ux$y","*"]',
        found: /^service-account-grantline may not impersonate x\$y/m,
      },
    },
    'lets nobody become a user whose name no rules file has to hold': {
      snapshot: oddNames.with({ rulesFile: false }).snapshot(),
      ...{
        from: '["ux$y","*"]',
        to: '["ux$y","*"],"z":true',
        found: /^(service-account-grantline|dash).* may impersonate x\$y/m,
      },
    },
    'lets readers maintain tables': {
      ...{
        snapshot: table().snapshot(),
        from: '"readersMaintain":false',
        to: '"readersMaintain":true',
        found: /readersMaintain/,
      },
    },
    'opens a session property': {
      ...{ snapshot: table().snapshot(), from: '"sessionProperties":{', to: '"sessionProperties":{"a":true' },
      found: /^ana may not SET SESSION a/m,
    },
    'gives a right over queries': {
      snapshot: aSnapshot().user('ana').may('VIEW_QUERIES', { engine: true }).snapshot(),
      ...{ from: '"":"V"', to: '"":"VK"', found: /^ana may not kill other people's queries/m },
    },
    'gives the queries of others': {
      snapshot: aSnapshot()
        .user('bo')
        .user('cy')
        .user('ana')
        .may('VIEW_QUERIES', { queries: { type: 'user', id: 1 } })
        .snapshot(),
      ...{ from: '"ubo":"V"', to: '"*":"V"', found: /^ana may not view queries of/m },
    },
    'decides an operation otherwise': {
      ...{ snapshot: table().snapshot(), from: '"DropTable":{"asks":"table","needs":["T"]}' },
      ...{ to: '"DropTable":{"asks":"table","needs":["S"]}', found: /operations/ },
    },
    'is no JSON': { snapshot: table().snapshot(), from: '{"access"', to: '{access', found: /no JSON/ },
  };
}

function messages(snapshot: Snapshot, [from, to]: [string, string] = ['', '']): string[] {
  const text = dataText(bundleData(snapshot));
  if (!text.includes(from)) throw new Error(`the data has no ${from}: ${text}`);
  return checkBundle(text.replace(from, to), snapshot).map(({ message }) => message);
}
