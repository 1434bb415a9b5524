#!/usr/bin/env node
// npx links this file at its first call, and keeps the link: it has to exist, and to be executable, before the build.
import { existsSync } from 'node:fs';

const built = new URL('../dist/main.js', import.meta.url);
if (existsSync(built)) await import(built.href);
else {
  process.stderr.write('Grantline is not built yet: run npm start or npm run build, and wait until it is done.\n');
  process.exitCode = 2;
}
