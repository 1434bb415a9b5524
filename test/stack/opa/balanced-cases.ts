import { dataText } from '../../../src/trino-rules/opa/archive.js';
import { bundleData } from '../../../src/trino-rules/opa/bundle-data.js';
import { type PluginQuestion, requestOf, type Resource } from '../../support/opa/plugin-question.js';
import type { Snapshot } from '../../../src/trino-rules/model/snapshot.js';
import { chosenWorlds } from './chosen-worlds.js';
import { worlds } from './worlds.js';

/** What `policy_test.rego` reads: the data of a bundle, and questions with their answers. */
interface Cases {
  worlds: { access: unknown; asked: object[] }[];
}

const WORLDS = 160;
const QUESTIONS = 300;

/**
 * Questions to random snapshots, always the same: of those that are alike in operation, answer and kind of resource no more than `most`, so
 * that few test every rule.
 */
export function balancedCases(most: number): Cases {
  const kept = new Map<string, number>();
  const found: Cases['worlds'] = [];
  const chosen = chosenWorlds();
  for (const { made, asked } of [...chosen, ...worlds(WORLDS, QUESTIONS, 3)]) {
    const cases = asked.filter(({ question, answer }) => {
      const kind = kindOf(question, answer, made);
      const count = kept.get(kind) ?? 0;
      kept.set(kind, count + 1);
      return count < most || chosen.some((world) => world.made === made);
    });
    if (cases.length === 0) continue;
    const { access } = JSON.parse(dataText(bundleData(made))) as { access: unknown };
    found.push({
      access,
      asked: cases.map(({ question, answer }) => ({ ...requestOf(question), entryPoint: question.entryPoint, answer })),
    });
  }
  return { worlds: found };
}

function kindOf({ entryPoint, user, action }: PluginQuestion, answer: unknown, { settings, users }: Snapshot): string {
  const { operation, resource = {} } = action;
  const isYes = Array.isArray(answer) ? answer.length > 0 : answer !== false && answer !== null;
  const isPerson = users.some(({ name }) => name === resource.user?.user);
  const bySettings = {
    ImpersonateUser: [settings.impersonation, isPerson],
    ExecuteTableProcedure: [settings.readersMaintain],
  }[operation];
  const isService = settings.serviceAccounts.includes(user);
  return [
    entryPoint,
    operation,
    isYes,
    isService,
    user === settings.ownAccount,
    bySettings,
    ...traitsOf(resource),
  ].join(' ');
}

function traitsOf({ table, schema, column, function: routine }: Resource): unknown[] {
  const at = table ?? schema ?? column;
  const properties = Object.keys(table?.properties ?? schema?.properties ?? {});
  return [
    at?.catalogName === 'system',
    at?.schemaName === 'information_schema',
    (table ?? column)?.tableName.includes('$'),
    properties.join(),
    table !== undefined && routine?.functionName,
    routine?.functionName === 'kill_query',
  ];
}
