import { rmSync } from 'node:fs';
import { register } from 'node:module';

export default async function tearDown() {
  const { folder, database } = globalThis.grantlineTestPostgres;
  await database.release();
  register('./typescript-loader.js', import.meta.url);
  /** @type {typeof import('./service/logged-tokens.js')} */
  const tokens = await import(new URL('service/logged-tokens.ts', import.meta.url).href);
  tokens.assertNoLoggedTokens(folder); // of PostgreSQL
  rmSync(folder, { recursive: true, force: true });
}
