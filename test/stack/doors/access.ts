/** Each has the schemas `sales` and `mine`; service accounts write in them. */
export const CATALOGS = ['ice', 'hive', 'pg', 'memory'] as const;
/** Iceberg, where service accounts read, and `keeper` fills the schema `sales`. */
export const READABLE = 'cold';
/** Tables can be made there over the files of others. */
export const EXTERNAL = 'hive';
/** Stands for a catalog whose columns `_key` and so on hold whole rows. */
export const RAW = 'memory';
export const SERVICE = 'service-account-grantline';

/** What people may do in each `sales` … */
export const READERS = ['reader', 'reader-filter', 'reader-mask', 'reader-hidden', 'reader-free'];
const WRITERS = ['writer-filter', 'writer-mask', 'writer-hidden', 'writer-free'];
export const OWNERS = ['owner-deny', 'owner-filter', 'owner-mask', 'owner-hidden', 'owner-free'];
/** … and to whom of them `orders` is restricted there, by which policy. */
export const FILTERED = ['reader', 'reader-filter', 'writer-filter', 'owner-filter'];
export const MASKED = ['reader', 'reader-mask', 'writer-mask', 'owner-mask'];
export const HIDDEN = ['reader', 'reader-hidden', 'writer-hidden', 'owner-hidden'];
/** `salaries` is denied, and the materialized view `totals`. */
const DENIED = ['reader', 'owner-deny'];

export const PEOPLE = [
  ...[...READERS, ...WRITERS, ...OWNERS],
  ...['appender', 'schema-mask', 'schema-deny', 'other-schema', 'keeper'],
];

interface Principal {
  type: 'user' | 'group';
  name: string;
}
const group = (name: string): Principal => ({ type: 'group', name });
const user = (name: string): Principal => ({ type: 'user', name });

function at(path: string) {
  const [catalog, schema, table] = path.split('.');
  return { catalog, schema, table };
}

const may = (principal: Principal, privileges: string, path: string) => ({
  resource: at(path),
  principal,
  privileges: privileges.split(', '),
});
const mayNot = (principal: Principal, path: string, ...privileges: string[]) => ({
  ...{ kind: 'deny', resource: at(path), principal },
  ...(privileges.length > 0 && { privileges }),
});
const seesOnly = (principal: Principal, path: string, expression: string) => ({
  ...{ kind: 'row_filter', resource: at(path), principal, expression },
});
const seesMasked = (principal: Principal, path: string, column: string) => ({
  ...{ kind: 'column_mask', resource: { ...at(path), column }, principal, expression: "'*'" },
});
const doesNotSee = (principal: Principal, path: string, column: string) => ({
  ...{ kind: 'hidden_column', resource: { ...at(path), column }, principal },
});

/** As `snapshot apply` reads it. */
export const ACCESS = {
  version: 1,
  groups: Object.entries({ READERS, WRITERS, OWNERS, FILTERED, MASKED, HIDDEN, DENIED }).map(([name, members]) => ({
    name,
    members,
  })),
  grants: [
    ...CATALOGS.flatMap((catalog) => [
      may(group('READERS'), 'SELECT', `${catalog}.sales`),
      may(group('WRITERS'), 'SELECT, INSERT, UPDATE, DELETE', `${catalog}.sales`),
      may(group('OWNERS'), 'SELECT, GRANT_SELECT', `${catalog}.sales`),
      may(group('OWNERS'), 'SELECT, INSERT, UPDATE, OWNERSHIP', `${catalog}.mine`),
      may(user('appender'), 'SELECT, INSERT', `${catalog}.sales`),
      may(user('schema-mask'), 'SELECT', `${catalog}.sales`),
      may(user('schema-deny'), 'SELECT', catalog),
      may(user('other-schema'), 'SELECT', `${catalog}.mine`),
    ]),
    may(user('keeper'), 'SELECT, INSERT, OWNERSHIP', READABLE),
  ],
  policies: CATALOGS.flatMap((catalog) => [
    seesOnly(group('FILTERED'), `${catalog}.sales.orders`, "region = 'EU'"),
    seesMasked(group('MASKED'), `${catalog}.sales.orders`, 'email'),
    doesNotSee(group('HIDDEN'), `${catalog}.sales.orders`, 'ssn'),
    mayNot(group('DENIED'), `${catalog}.sales.salaries`),
    mayNot(group('DENIED'), `${catalog}.sales.totals`),
    mayNot(user('appender'), `${catalog}.sales.salaries`, 'SELECT'),
    seesMasked(user('schema-mask'), `${catalog}.sales`, 'email'),
    doesNotSee(user('schema-mask'), `${catalog}.sales`, 'ssn'),
    mayNot(user('schema-deny'), `${catalog}.sales`),
  ]),
};
