import { runStatement } from '../loop/statement.js';
import { kubectlOf, type Stack } from '../stack.js';
import { editRules } from './config-map.js';
import { READABLE_CATALOG } from './grantline.js';
import { until } from './until.js';

/** Everybody may run statements, on every catalog, also under the name of others. */
const OPEN = {
  queries: [{ allow: ['execute', 'view'] }],
  catalogs: [{ allow: 'all' }],
  schemas: [{ owner: true }],
  tables: [{ privileges: ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP'] }],
  impersonation: [{ original_user: '.*', new_user: '.*' }],
};

/** Lets everybody do everything on the run's engines, until `emptyRules`. @returns the URL of the insecure one, which does so by now */
export async function openEngine(stack: Stack): Promise<string> {
  await editRules(kubectlOf(stack), JSON.stringify(OPEN));
  const engine = stack.engines.insecure;
  await until('everybody may do everything', 30_000, async () => {
    const asker = { mode: 'insecure', family: 'X-Trino', user: 'nobody-in-particular' } as const;
    const { kind } = await runStatement(engine, asker, `SELECT count(*) FROM ${READABLE_CATALOG}.tiny.region`);
    return kind === 'rows' ? true : undefined;
  });
  return engine;
}
