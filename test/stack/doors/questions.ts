import { FILTERED, HIDDEN, MASKED, CATALOGS, EXTERNAL, OWNERS, RAW, READABLE, READERS, SERVICE } from './access.js';

export interface Question {
  who: string;
  /** `{name}` stands for a snapshot. */
  sql: string;
  /** The rows; or a pattern of the error, by its name and text. Without it: it runs. */
  answer?: RegExp | unknown[][];
}

const ask = (who: string | readonly string[], sql: string | readonly string[], answer?: Question['answer']) =>
  [sql]
    .flat()
    .flatMap((each) => [who].flat().map((one): Question => ({ who: one, sql: each, ...(answer && { answer }) })));

const DENIED = /^PERMISSION_DENIED: Access Denied: |^TABLE_NOT_FOUND: .*Relation not found or not allowed$/;
const NO_PROCEDURE =
  /^NOT_SUPPORTED: .*EXECUTE is not supported for table with (row filter|column masks)$|^PERMISSION_DENIED: /;
const NO_EFFECT = /^NOT_SUPPORTED: .* table with (a row filter|column masks) is not supported$|^PERMISSION_DENIED: /;

/** Who has `orders` restricted. */
const RESTRICTED = [...new Set([...FILTERED, ...MASKED, ...HIDDEN]), 'schema-mask'];
const COLUMNS_RESTRICTED = [...new Set([...MASKED, ...HIDDEN]), 'schema-mask'];
const NO_SALARIES = ['reader', 'owner-deny', 'appender', 'schema-deny'];
const READ_ALONE = [...READERS, 'owner-free', 'schema-mask'];

const COMPANIONS: Record<string, string[]> = {
  ice: [
    ...['files', 'entries', 'all_entries', 'partitions', 'manifests', 'all_manifests'],
    ...['snapshots', 'history', 'metadata_log_entries', 'refs', 'properties'],
  ],
  hive: ['partitions', 'properties'],
  pg: ['backup'],
  memory: ['backup'],
};
const STORAGE_COLUMNS = { ice: ['$path', '$partition'], hive: ['$path', '$partition', '$bucket'] };
const MAINTENANCE = [
  ...['optimize', 'optimize_manifests', 'drop_extended_stats'],
  ...["expire_snapshots(retention_threshold => '7d')", "remove_orphan_files(retention_threshold => '7d')"],
];

const execute = (table: string, ...procedures: string[]) =>
  procedures.map((procedure) => `ALTER TABLE ${table} EXECUTE ${procedure}`);
const merge = (table: string) =>
  `MERGE INTO ${table} t USING (VALUES 1) AS s (id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET amount = 11`;
const make = (catalog: string, who: string, location = '') =>
  `CREATE TABLE ${catalog}.mine."${who}" (id bigint, amount bigint, email varchar) ${location}`;
const OVER_SALARIES = `WITH (external_location = 'local:///${EXTERNAL}/sales/salaries/region=US/ssn=s2')`;

/** Ways around a right rule. Those which change what the others read come last, should they be open. */
export const DOORS: Question[] = [
  // Tables that the connector has beside another, or that are named like these.
  ...Object.entries(COMPANIONS).flatMap(([catalog, suffixes]) =>
    suffixes.flatMap((suffix) => [
      ...ask(RESTRICTED, `SELECT * FROM ${catalog}.sales."orders$${suffix}"`, DENIED),
      ...ask(NO_SALARIES, `SELECT * FROM ${catalog}.sales."salaries$${suffix}"`, DENIED),
    ]),
  ),
  ...ask(RESTRICTED, 'SELECT * FROM pg.sales."orders$backup$old"', DENIED),
  ...ask(
    RESTRICTED,
    [
      'SELECT readable_metrics FROM ice.sales."ORDERS$FILES"',
      'SHOW STATS FOR ice.sales."orders$files"',
      'SHOW COLUMNS FROM ice.sales."orders$files"',
    ],
    DENIED,
  ),
  ...ask('owner-mask', 'CREATE TABLE ice.mine.copy AS SELECT file_path FROM ice.sales."orders$files"', DENIED),
  ...ask('reader', 'SELECT * FROM ice.sales."totals$materialized_view_storage"', DENIED),
  ...ask('reader', execute('ice.sales."totals$materialized_view_storage"', 'optimize'), NO_PROCEDURE),
  ...ask(
    ['writer-filter', 'writer-mask', 'writer-hidden'],
    ['INSERT INTO pg.sales."orders$backup" (id) VALUES (4)', 'TRUNCATE TABLE pg.sales."orders$backup"'],
    DENIED,
  ),

  // Columns that the connector has beside those of the table.
  ...Object.entries(STORAGE_COLUMNS).flatMap(([catalog, columns]) =>
    columns.flatMap((column) =>
      ask(
        COLUMNS_RESTRICTED,
        [
          `SELECT "${column}" FROM ${catalog}.sales.orders`,
          `SELECT id FROM ${catalog}.sales.orders WHERE CAST("${column}" AS varchar) LIKE '%1%'`,
        ],
        DENIED,
      ),
    ),
  ),
  ...ask('schema-mask', `SELECT _key FROM ${RAW}.sales.messages`, DENIED),

  // Files instead of tables.
  ...OWNERS.filter((who) => who !== 'owner-free').flatMap((who) =>
    ask(who, [make(EXTERNAL, who, OVER_SALARIES), make(EXTERNAL, `managed ${who}`)], DENIED),
  ),

  // What nobody was given.
  ...ask(
    'other-schema',
    [
      ...['orders', '"orders$files"'].map((table) => `SELECT * FROM ice.sales.${table}`),
      ...['SELECT "$path" FROM ice.sales.orders', ...execute('ice.sales.orders', 'optimize')],
    ],
    DENIED,
  ),

  // Changes by those who read.
  ...ask(['reader-hidden', 'schema-mask'], execute('ice.sales.orders', ...MAINTENANCE), NO_PROCEDURE),
  ...ask(READ_ALONE, execute('ice.sales.items', ...MAINTENANCE), NO_PROCEDURE),
  ...ask(SERVICE, execute(`${READABLE}.sales.items`, ...MAINTENANCE), NO_PROCEDURE),
  ...ask(READ_ALONE, execute('ice.sales.items', 'rollback_to_snapshot({empty})'), NO_PROCEDURE),

  // Writing past a restriction.
  ...ask('writer-hidden', `DELETE FROM ice.sales.orders WHERE "$path" LIKE '%ssn=s2%'`, DENIED),
  ...ask(
    ['writer-filter', 'writer-mask'],
    ['ice', 'pg', 'memory'].map((catalog) => `TRUNCATE TABLE ${catalog}.sales.orders`),
    DENIED,
  ),
];

const [EU, US] = [
  [1, 10, 'a@x', 'EU', 's1'],
  [2, 20, 'b@x', 'US', 's2'],
];
const masked = ([id, amount, , ...rest]: unknown[]) => [id, amount, '*', ...rest];
const hidden = (row: unknown[]) => row.slice(0, -1);
const ORDERS: Record<string, unknown[][]> = {
  reader: [hidden(masked(EU))],
  'reader-filter': [EU],
  'reader-mask': [masked(EU), masked(US)],
  'reader-hidden': [hidden(EU), hidden(US)],
  'reader-free': [EU, US],
  'writer-filter': [EU],
  'schema-mask': [hidden(masked(EU)), hidden(masked(US))],
};

/** What must go on. In this order: what comes later changes what the first ones read. */
export const KEPT: Question[] = [
  ...Object.entries(ORDERS).flatMap(([who, rows]) => [
    ...CATALOGS.flatMap((catalog) => ask(who, `SELECT * FROM ${catalog}.sales.orders ORDER BY id`, rows)),
    ...ask(
      who,
      [
        'VERSION AS OF {filled}',
        "VERSION AS OF 'main'",
        "TIMESTAMP AS OF current_timestamp - INTERVAL '0.001' SECOND",
      ].map((version) => `SELECT * FROM ice.sales.orders FOR ${version} ORDER BY id`),
      rows,
    ),
  ]),
  ...CATALOGS.flatMap((catalog) => [
    ...ask(['reader', 'reader-free', 'schema-mask'], `DESCRIBE ${catalog}.sales.orders`),
    ...ask(['reader', 'reader-free', 'schema-mask'], `SHOW STATS FOR ${catalog}.sales.items`),
    ...ask('reader', `SHOW TABLES FROM ${catalog}.sales LIKE 'orders'`, [['orders']]),
  ]),

  ...ask(
    ['reader-free', 'writer-free', 'appender'],
    [
      ...['files', 'partitions', 'snapshots'].map((suffix) => `SELECT * FROM ice.sales."orders$${suffix}"`),
      ...['hive.sales."orders$partitions"', 'pg.sales."orders$backup"'].map((table) => `SELECT * FROM ${table}`),
    ],
  ),
  ...ask('reader', 'SELECT count(*) FROM ice.sales."items$snapshots"', [[2]]),
  ...['ice', 'hive'].flatMap((catalog) => [
    ...ask(['reader-free', 'writer-free'], `SELECT count("$path") FROM ${catalog}.sales.orders`, [[2]]),
    ...ask('reader-filter', `SELECT count("$partition") FROM ${catalog}.sales.orders`, [[1]]),
  ]),
  ...ask('reader-free', `SELECT _key FROM ${RAW}.sales.messages`, [['a@x,s1']]),

  ...ask('reader-free', "SELECT amount FROM ice.sales.totals WHERE region = 'US'", [[20]]),
  ...ask('owner-free', [
    'CREATE MATERIALIZED VIEW ice.mine.counted AS SELECT region, count(*) AS n FROM ice.sales.items GROUP BY region',
    'REFRESH MATERIALIZED VIEW ice.mine.counted',
    'CREATE VIEW ice.mine.seen AS SELECT email FROM ice.sales.items',
  ]),
  ...ask(['owner-free', 'owner-mask', 'other-schema'], "SELECT n FROM ice.mine.counted WHERE region = 'EU'", [[1]]),
  ...ask(['owner-free', 'owner-mask', 'other-schema'], 'SELECT count(email) FROM ice.mine.seen', [[2]]),
  ...OWNERS.flatMap((who) => ask(who, [make('ice', who), `DROP TABLE ice.mine."${who}"`])),
  ...ask('owner-free', make(EXTERNAL, 'owner-free', OVER_SALARIES)),

  ...ask(
    ['writer-free', 'appender'],
    CATALOGS.map((catalog) => `INSERT INTO ${catalog}.sales.items (id, region, ssn) VALUES (3, 'EU', 's3')`),
  ),
  ...ask(
    'writer-free',
    ['ice', 'pg'].flatMap((catalog) => [
      `UPDATE ${catalog}.sales.items SET amount = 12 WHERE id = 1`,
      `DELETE FROM ${catalog}.sales.items WHERE id = 2`,
    ]),
  ),
  ...ask('writer-free', merge('ice.sales.items')),
  ...ask('writer-hidden', [
    "INSERT INTO ice.sales.orders VALUES (3, 30, 'c@x', 'EU', 's3')",
    'UPDATE ice.sales.orders SET amount = 31 WHERE id = 3',
    "UPDATE ice.sales.orders SET ssn = 's4' WHERE id = 3",
    merge('ice.sales.orders'),
    'DELETE FROM ice.sales.orders WHERE id = 3',
    ...execute('ice.sales.orders', 'optimize'),
  ]),
  ...ask('writer-filter', "INSERT INTO ice.sales.orders VALUES (4, 40, 'd@x', 'EU', 's5')"),
  ...ask(
    'writer-filter',
    "INSERT INTO ice.sales.orders VALUES (5, 50, 'e@x', 'US', 's6')",
    /Cannot insert row that does not match a row filter/,
  ),

  ...ask(SERVICE, `SELECT count(*) FROM ${READABLE}.sales.items`, [[2]]),
  ...ask([SERVICE, 'writer-free'], execute('ice.sales.spare', ...MAINTENANCE)),
  ...ask('appender', execute('ice.sales.spare', 'optimize')),
  ...ask([SERVICE, 'writer-free'], execute('ice.sales.spare', 'rollback_to_snapshot({spare})')),
];

/** The engine does none of them beside a filter or mask, but DELETE, which goes because TRUNCATE asks the same right. */
export const WITHOUT_EFFECT: Question[] = [
  ...ask(
    ['writer-filter', 'writer-mask'],
    [
      'UPDATE ice.sales.orders SET amount = 1 WHERE id = 1',
      merge('ice.sales.orders'),
      'DELETE FROM ice.sales.orders WHERE id = 1',
    ],
    NO_EFFECT,
  ),
  ...ask('writer-mask', "INSERT INTO ice.sales.orders VALUES (6, 60, 'f@x', 'EU', 's7')", NO_EFFECT),
];

/** Statements, and what their plans show for one who reads alone as for one who writes. */
export const PLANS: Record<string, RegExp> = {
  'SELECT region, count(*), max(amount) FROM pg.sales.items GROUP BY region': /Query\[SELECT "region", count\(\*\)/,
  'SELECT * FROM pg.sales.items ORDER BY amount DESC LIMIT 2': /sortOrder=\[amount.* limit=2/,
  "SELECT a.id FROM pg.sales.items a JOIN pg.sales.orders b ON a.id = b.id WHERE b.region = 'EU'":
    /Query\[SELECT .*INNER JOIN/,
  "SELECT count(*) FROM ice.sales.orders WHERE region = 'EU'": /constraint on \[region\]/,
  'SELECT a.id FROM ice.sales.items a JOIN ice.sales.orders b ON a.id = b.id WHERE b.amount > 10': /dynamicFilters/,
  "SELECT id FROM hive.sales.orders WHERE region = 'EU' AND amount > 5": /region:string:PARTITION_KEY/,
};
