import { READABLE } from './access.js';

const COLUMNS = '(id bigint, amount bigint, email varchar, region varchar, ssn varchar)';
const ROWS = "VALUES (1, 10, 'a@x', 'EU', 's1'), (2, 20, 'b@x', 'US', 's2')";
const BY_ICEBERG = "WITH (partitioning = ARRAY['region', 'ssn'])";
const BY_HIVE = "WITH (partitioned_by = ARRAY['region', 'ssn'], bucketed_by = ARRAY['email'], bucket_count = 2)";

const filled = (name: string, layout = '') => [
  `CREATE TABLE ${name} ${COLUMNS} ${layout}`,
  `INSERT INTO ${name} ${ROWS}`,
];
const schemas = (catalog: string) => [`CREATE SCHEMA ${catalog}.sales`, `CREATE SCHEMA ${catalog}.mine`];
const tables = (catalog: string, layout = '') =>
  ['orders', 'salaries', 'items'].flatMap((table) => filled(`${catalog}.sales.${table}`, layout));
/** Ordinary tables, where a connector has no others of such names. */
const namedAsCompanions = (catalog: string) =>
  ['orders$backup', 'orders$backup$old', 'salaries$backup'].flatMap((name) => filled(`${catalog}.sales."${name}"`));

/** By catalog the statements that fill it. */
export const MADE: Record<string, string[]> = {
  ice: [
    ...schemas('ice'),
    ...tables('ice', BY_ICEBERG),
    ...filled('ice.sales.spare'),
    'CREATE MATERIALIZED VIEW ice.sales.totals AS SELECT region, sum(amount) AS amount FROM ice.sales.orders GROUP BY 1',
    'REFRESH MATERIALIZED VIEW ice.sales.totals',
  ],
  hive: [...schemas('hive'), ...tables('hive', BY_HIVE)],
  pg: [...schemas('pg'), ...tables('pg'), ...namedAsCompanions('pg')],
  memory: [
    ...schemas('memory'),
    ...tables('memory'),
    ...namedAsCompanions('memory'),
    "CREATE TABLE memory.sales.messages AS SELECT 'a@x' AS email, 'a@x,s1' AS _key",
  ],
  [READABLE]: [`CREATE SCHEMA ${READABLE}.sales`, ...filled(`${READABLE}.sales.items`)],
};

/** Snapshots of Iceberg's tables, by the name under which statements use them: `{empty}`. */
export const SNAPSHOTS: Record<string, string> = {
  empty: 'SELECT min_by(snapshot_id, committed_at) FROM ice.sales."items$snapshots"',
  spare: 'SELECT min_by(snapshot_id, committed_at) FROM ice.sales."spare$snapshots"',
  filled: 'SELECT max_by(snapshot_id, committed_at) FROM ice.sales."orders$snapshots"',
};
