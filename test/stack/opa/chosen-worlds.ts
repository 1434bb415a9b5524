import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { KILL_QUERY } from '../../../src/trino-rules/model/node.js';
import { IntentAnswers } from '../../support/opa/answer-by-intent.js';
import type { PluginQuestion, Resource } from '../../support/opa/plugin-question.js';
import { aSnapshot } from '../../support/snapshots/snapshot-builder.js';
import type { World } from './worlds.js';

const HOUR = 3_600_000;
const LONGEST_NAME = '\u{1f600}'.repeat(128);

/** What random snapshots seldom have. */
export function chosenWorlds(): World[] {
  const now = Date.now();
  const lapsed = new Date(now - HOUR / 2);
  const underDeny = aSnapshot()
    .user('ana')
    .may('SELECT', 'crm.eu.people')
    .may('SELECT', 'sales.eu.orders')
    .may('SELECT', 'sales.us.orders')
    .mayNot('sales.eu.orders')
    .user('bo')
    .may('SELECT', 'sales.eu.orders')
    .mayNot('sales.eu.orders')
    .user('cy')
    .may('SELECT', 'sales.eu.orders')
    .seesOnly('sales.eu.orders', 'a = 1')
    .user('dee')
    .may('SELECT', '')
    .doesNotSee('sales', 'ssn')
    .user('eve')
    .may('SELECT, TABLE_OWNERSHIP', 'sales.eu')
    .mayNot('sales.eu.orders', 'INSERT')
    .user('fay')
    .may('SELECT', 'sales.eu')
    .mayNot(`sales.eu.${LONGEST_NAME}`)
    .snapshot();
  const { ownAccount } = underDeny.settings;
  const killing = aSnapshot()
    .group('team', ['ana', 'bo'])
    .user('ana')
    .may('VIEW_QUERIES, KILL_QUERIES', { engine: true })
    .mayNot({ queries: { type: 'user', id: 2 } }, 'VIEW_QUERIES')
    .user('bo')
    .may('KILL_QUERIES', { queries: { type: 'group', id: 1 } })
    .user('cy')
    .may('KILL_QUERIES', { queries: { type: 'user', id: 1 } })
    .mayNot({ queries: { type: 'group', id: 1 } }, 'KILL_QUERIES')
    .user('dee')
    .may('KILL_QUERIES', { queries: { type: 'group', id: 1 } })
    .mayNot({ engine: true }, 'KILL_QUERIES')
    .user('eve')
    .may('KILL_QUERIES', { engine: true })
    .mayNot(KILL_QUERY, 'CALL_PROCEDURE')
    .user('fay')
    .may('VIEW_QUERIES', { queries: { type: 'group', id: 1 } })
    .everyone()
    .mayNot({ queries: { type: 'user', id: 1 } }, 'VIEW_QUERIES', { type: 'user', id: 6 })
    .snapshot();
  const people = killing.users.map(({ name }) => name);
  const lapsing = aSnapshot()
    .user('bo')
    .engine('etl')
    .may('SELECT', 'sales', { expiresAt: lapsed })
    .engine('job')
    .may('SELECT', 'sales')
    .everyone()
    .may('SELECT', 'crm')
    .engine('superset')
    .may('IMPERSONATE', { as: { type: 'engine', name: 'etl' } })
    .may('IMPERSONATE', { as: { type: 'user', id: 1 } })
    .engine('bi')
    .may('IMPERSONATE', { as: { type: 'everyone' } })
    .may('IMPERSONATE', { as: { type: 'engine', name: 'superset' } })
    // Of everyone, only an engine principal that is known no more is left.
    .user('gus')
    .may('KILL_QUERIES', { queries: { type: 'everyone' } })
    .mayNot({ queries: { type: 'everyone' } }, 'KILL_QUERIES')
    .snapshot();
  const oddNames = aSnapshot()
    .group('odd', ['x$y', 'a[b]'])
    .may('SELECT', 'sales')
    .engine('bi')
    .may('IMPERSONATE', { as: { type: 'group', id: 1 } });
  const schemas = (catalogName: string): Resource[] =>
    ['eu', 'us', 'apac'].map((schemaName) => ({ schema: { catalogName, schemaName } }));
  const becoming = (user: string, ...others: string[]): PluginQuestion[] =>
    others.map((other) => allow(user, 'ImpersonateUser', { user: { user: other, groups: [] } }));
  const table = { catalogName: 'crm', schemaName: 'eu', tableName: 'people', columns: [] };
  const hidden = { catalogName: 'sales', schemaName: 'eu', tableName: 'people', columns: ['id', 'ssn', '$path'] };
  const orders = { catalogName: 'sales', schemaName: 'eu', tableName: 'orders$files' };
  const procedure = (schemaName: string, functionName: string): Resource => ({
    function: { catalogName: 'system', schemaName, functionName },
  });
  return [
    world(underDeny, now, [
      batch('dee', 'FilterColumns', [{ table: hidden }]),
      allow('dee', 'SelectFromColumns', { table: hidden }),
      allow('dee', 'SelectFromColumns', { table: { ...hidden, catalogName: 'grantline' } }),
      batch('dee', 'FilterCatalogs', [{ catalog: { name: 'grantline' } }, { catalog: { name: 'sales' } }]),
      allow('eve', 'SelectFromColumns', { table: { ...orders, columns: [] } }),
      allow('fay', 'SelectFromColumns', { table: { ...orders, tableName: `${LONGEST_NAME}$files`, columns: [] } }),
      allow('eve', 'CreateTable', { table: { ...hidden, properties: { location: 's3://a' } } }),
      allow('cy', 'CreateTable', { table: { ...hidden, properties: { location: 's3://a' } } }),
      allow('ana', 'SetCatalogSessionProperty', { catalogSessionProperty: { catalogName: 'lake', propertyName: 'a' } }),
      allow('ana', 'SetSystemSessionProperty', { systemSessionProperty: { name: 'a' } }),
      ...becoming(ownAccount, 'ana', 'bo', 'cy'),
      ...['ana', 'bo', 'cy'].flatMap((user) => [
        allow(user, 'ExecuteQuery', {}),
        batch(user, 'FilterSchemas', schemas('sales')),
        batch(user, 'FilterCatalogs', [{ catalog: { name: 'sales' } }, { catalog: { name: 'crm' } }]),
      ]),
    ]),
    world(killing, now, [
      ...people.flatMap((user) => [
        allow(user, 'ExecuteQuery', {}),
        allow(user, 'ExecuteProcedure', procedure('runtime', 'kill_query')),
        allow(user, 'ExecuteProcedure', procedure('jdbc', 'kill_query')),
        allow(user, 'ExecuteFunction', procedure('runtime', 'kill_query')),
        batch(user, 'FilterSchemas', [{ schema: { catalogName: 'system', schemaName: 'runtime' } }]),
        ...[...people, 'ghost'].flatMap((other) => [
          allow(user, 'ViewQueryOwnedBy', { user: { user: other, groups: [] } }),
          allow(user, 'KillQueryOwnedBy', { user: { user: other, groups: [] } }),
        ]),
      ]),
    ]),
    world(lapsing, now, [
      allow('gus', 'ExecuteProcedure', procedure('runtime', 'kill_query')),
      ...['etl', 'job'].map((user) => allow(user, 'SelectFromColumns', { table })),
      ...becoming('superset', 'etl', 'bo', 'job'),
      ...becoming('bi', 'superset', 'bo', 'etl', 'job'),
      ...becoming(lapsing.settings.ownAccount, 'bo', 'job', 'etl'),
    ]),
    ...[true, false].map((rulesFile) =>
      world(oddNames.with({ rulesFile }).snapshot(), now, [
        ...becoming('bi', 'x$y', 'a[b]'),
        ...becoming(ownAccount, 'x$y', 'a[b]'),
        ...becoming('x$y', 'a[b]'),
      ]),
    ),
  ];
}

function world(snapshot: Snapshot, now: number, questions: readonly PluginQuestion[]): World {
  const answers = new IntentAnswers({ ...snapshot, at: new Date(now) });
  const asked = questions.map((question) => ({ question, answer: answers.answer(question) }));
  return { made: { ...snapshot, at: new Date(now - HOUR) }, asked };
}

function allow(user: string, operation: string, resource: Resource): PluginQuestion {
  return { entryPoint: 'allow', user, action: { operation, resource } };
}

function batch(user: string, operation: string, filterResources: Resource[]): PluginQuestion {
  return { entryPoint: 'batch', user, action: { operation, filterResources } };
}
