import { until } from '../running/until.js';
import type { Answer } from './statement.js';

/**
 * Waits until the engine uses these rules, and no others that let the same people ask. Each version lets the service account
 * set a property of its own name, which no engine has: only then is the answer that there is no such property. Rules without
 * a section on session properties allow every property, so the engine must first deny one that these rules do not name.
 *
 * @param askAsService Runs a statement as the service account
 */
export async function untilRulesInForce(text: string, askAsService: (sql: string) => Promise<Answer>): Promise<void> {
  const property = /grantline_rules_\w+/.exec(text)?.[0];
  if (property === undefined) throw new Error('the rules carry no mark of their version');
  const errorOf = async (name: string): Promise<string> => {
    const answer = await askAsService(`SET SESSION ${name} = true`);
    return answer.kind === 'failed' ? answer.errorName : answer.kind;
  };
  await until('the engine uses the rules', 60_000, async () => {
    if ((await errorOf('grantline_rules_none')) !== 'PERMISSION_DENIED') return undefined;
    return (await errorOf(property)) === 'INVALID_SESSION_PROPERTY' ? true : undefined;
  });
}
