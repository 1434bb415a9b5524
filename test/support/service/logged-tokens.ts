import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { idInToken } from '../../../src/identity/tokens/domain/api-token.js';

const FORM = /glt_[0-9A-Za-z]{57}/g;

/**
 * The API tokens in the logs below a folder, however they came there: by their checksum, so that nothing else is one.
 * @returns a line for each, with the token's id and nothing of its secret; empty: none
 */
export function loggedTokens(folder: string): string[] {
  const logs = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.log'));
  return logs.flatMap((log) => {
    const texts = readFileSync(join(folder, log), 'latin1').match(FORM) ?? [];
    const ids = new Set(texts.map(idInToken).filter((id) => id !== null));
    return [...ids].map((id) => `${log}: the API token ${id}`);
  });
}

/** @throws Error that names them, where a log below the folder holds API tokens */
export function assertNoLoggedTokens(folder: string): void {
  const found = loggedTokens(folder);
  if (found.length > 0) throw new Error(`API tokens were written into logs of ${folder}:\n${found.join('\n')}`);
}
