import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { Stack } from '../stack.js';
import { startEngine } from './engine.js';
import { Processes } from './processes.js';

/** Everybody may run statements, on every catalog, also under the name of others. */
const OPEN = {
  queries: [{ allow: ['execute', 'view'] }],
  catalogs: [{ allow: 'all' }],
  schemas: [{ owner: true }],
  tables: [{ privileges: ['SELECT', 'INSERT', 'DELETE', 'UPDATE', 'OWNERSHIP'] }],
  impersonation: [{ original_user: '.*', new_user: '.*' }],
};

/** Starts an insecure engine for one spec, where everybody may do everything. @returns its URL */
export async function startOpenEngine(stack: Stack, name: string): Promise<{ engine: string; processes: Processes }> {
  const processes = new Processes(mkdtempSync(join(stack.folder, `${name}-`)));
  const rulesFolder = join(processes.folder, 'rules');
  mkdirSync(rulesFolder);
  writeFileSync(join(rulesFolder, 'rules.json'), JSON.stringify(OPEN));
  const { parts, issuer } = stack;
  const engine = await startEngine(processes, parts, { mode: 'insecure', issuer, rulesFolder });
  return { engine, processes };
}
