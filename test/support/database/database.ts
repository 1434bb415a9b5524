import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import type { Binaries } from '../../../src/platform/database/embedded-cluster.js';

export interface TestDatabase {
  /** As the service's role. */
  url: string;
  /** As the role that owns the schema. */
  migrationUrl: string;
  drop(): Promise<void>;
}

/** The files of a stopped and migrated cluster, and the passwords of its roles. */
export interface MadeCluster {
  data: string;
  passwords: Record<string, string>;
}

interface TestPostgres {
  url: string;
  migrationUrl: string;
  superuserUrl: string;
  /** Of the PostgreSQL that the run is on. */
  made: MadeCluster;
  /** Of the embedded one, which the built service joins. */
  embedded: MadeCluster;
  /** Where the run is on another PostgreSQL than the embedded one. */
  binaries?: Binaries;
  /** How `CREATE DATABASE` copies: as files, which takes half as long as by way of the log. */
  copied: string;
}

/** The server that the run's set-up started. */
export function testPostgres(): TestPostgres {
  return JSON.parse(process.env['GRANTLINE_TEST_POSTGRES'] ?? '') as TestPostgres;
}

/** A migrated database of one's own, copied from the one that the run's set-up made. */
export async function freshDatabase(): Promise<TestDatabase> {
  const postgres = testPostgres();
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await asSuperuser(`CREATE DATABASE ${name} TEMPLATE grantline OWNER grantline_owner ${postgres.copied}`);
  const inIt = (url: string): string => url.replace(/\/grantline$/, `/${name}`);
  return {
    url: inIt(postgres.url),
    migrationUrl: inIt(postgres.migrationUrl),
    drop: () => asSuperuser(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

export async function asSuperuser(statement: string): Promise<void> {
  const client = new Client(testPostgres().superuserUrl);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
