import { rmSync } from 'node:fs';

export default async function tearDown() {
  const { folder, database } = globalThis.grantlineTestPostgres;
  await database.release();
  rmSync(folder, { recursive: true, force: true });
}
