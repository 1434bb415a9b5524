import { Client } from 'pg';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { ownPostgres } from '../support/database/own-postgres.js';
import { IMAGE_NODE } from './parts/image.js';

describe('what runs once more', () => {
  it("runs here on the image's Node", () => {
    expect(process.versions.node).toBe(IMAGE_NODE.version);
  });

  it.each([
    ['shared by all', freshDatabase],
    ["of one's own", ownPostgres],
  ])('runs here on PostgreSQL 14: %s', async (_, begin) => {
    const database = await begin();
    try {
      expect(await versionOf(database)).toMatch(/^14\./);
    } finally {
      await database.drop();
    }
  });
});

async function versionOf({ url }: TestDatabase): Promise<string> {
  const client = new Client(url);
  await client.connect();
  try {
    const { rows } = await client.query<{ server_version: string }>('SHOW server_version');
    return rows[0]?.server_version ?? 'none';
  } finally {
    await client.end();
  }
}
