import { AccessIndex } from '../../src/trino-rules/answers/access-index.js';
import { explain } from '../../src/trino-rules/answers/explanation.js';
import { compile } from '../../src/trino-rules/compile/compile.js';
import type { Node } from '../../src/trino-rules/model/node.js';
import type { Snapshot } from '../../src/trino-rules/model/snapshot.js';
import { checkRules } from '../../src/trino-rules/verify/check.js';
import { aSnapshot } from '../support/snapshots/snapshot-builder.js';
import { type Answer, runStatement } from './loop/statement.js';
import { editRules, emptyRules } from './running/config-map.js';
import { until } from './running/until.js';
import { kubectlOf, openStack } from './stack.js';

const stack = openStack(process.env);
const kubectl = kubectlOf(stack);

const SCHEMA = 'memory.owned';
const ORDERS = `${SCHEMA}.orders`;
const ROWS = `SELECT id, card FROM ${ORDERS}`;

const ask = (user: string, sql: string): Promise<Answer> =>
  runStatement(stack.engines.insecure, { mode: 'insecure', family: 'X-Trino', user }, sql);

const isDenied = (found: Answer): boolean => found.kind === 'failed' && found.errorName === 'PERMISSION_DENIED';

/** Proves the rules of a snapshot, publishes them, and waits until they are in force. */
async function publish(snapshot: Snapshot): Promise<void> {
  const { text, hash } = compile(snapshot);
  expect(checkRules(text, snapshot)).toEqual([]);
  await editRules(kubectl, text);
  const version = `SET SESSION grantline_rules_${hash} = true`;
  await until('the rules are in force', 60_000, async () => {
    const found = await ask(snapshot.settings.ownAccount, version);
    return found.kind === 'failed' && found.errorName === 'INVALID_SESSION_PROPERTY' ? true : undefined;
  });
}

/** What is done to a table with two columns, in an order in which each finds what the ones before it left. */
const ON_COLUMNS = [
  `ALTER TABLE ${ORDERS} RENAME COLUMN card TO open_card`,
  `ALTER TABLE ${ORDERS} ADD COLUMN note varchar`,
  `ALTER TABLE ${ORDERS} DROP COLUMN note`,
];
const ON_TABLE = [
  ...ON_COLUMNS,
  `COMMENT ON TABLE ${ORDERS} IS 'mine'`,
  `ALTER TABLE ${ORDERS} RENAME TO ${SCHEMA}.orders_open`,
  `DROP TABLE ${SCHEMA}.orders_open`,
];
