// npm run start:dev [-- options of vite's]: the service, started again when its code has changed (nest), and the console's pages, changed in
// the browser (vite). The embedded database runs through: the service alone would stop and start it each time.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openDatabase } from './dist/platform/database/database.js';
import { loadSettings } from './dist/platform/settings/settings-loader.js';

const database = await openDatabase(await loadSettings('serve'), { mayCreate: true, report: () => undefined });
const env = { ...process.env, DATABASE_URL: database.url, DATABASE_MIGRATION_URL: database.migrationUrl };

/** @param {string[]} args */
const run = (...args) => spawn(process.execPath, args, { stdio: 'inherit', env });
/** `exec`: signals reach the service, not the shell in which nest starts it. */
const NEST = ['start', '--watch', '--preserveWatchOutput', '--exec', 'exec node', '--', 'serve'];
const children = [
  run('node_modules/@nestjs/cli/bin/nest.js', ...NEST),
  run('node_modules/vite/bin/vite.js', '--config', 'src/console/browser/vite.config.ts', ...process.argv.slice(2)),
];
const ends = children.map((child) => once(child, 'exit'));
const signals = ['SIGINT', 'SIGTERM'].map((signal) => once(process, signal));
await Promise.race([...ends, ...signals]);
for (const child of children) child.kill('SIGTERM');
await Promise.all(ends);
await database.release();
