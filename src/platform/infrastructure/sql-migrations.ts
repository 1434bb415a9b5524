import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** `/migrations`, beside `dist` in a build and beside `src` in a checkout. */
const FOLDER = fileURLToPath(new URL('../../../migrations', import.meta.url));

/** TypeORM orders migrations by the 13 digits at the end of their names. */
const EPOCH = 1_790_000_000_000;

/**
 * The migrations as TypeORM wants them, one class for each `NNNN-what-it-does.sql`. Plain SQL, forward only: a file that
 * was released is never edited.
 */
export function sqlMigrations(folder: string = FOLDER): (new () => MigrationInterface)[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));
  return files.sort().map((file) => {
    const [, number, intent] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(file) ?? [];
    if (number === undefined || intent === undefined) throw new Error(`${file} is not named NNNN-what-it-does.sql`);
    const sql = readFileSync(`${folder}/${file}`, 'utf8');
    return class implements MigrationInterface {
      readonly name = `${number}-${intent}-${EPOCH + Number(number)}`;

      async up(runner: QueryRunner): Promise<void> {
        await runner.query(sql);
      }

      down(): Promise<void> {
        throw new Error('migrations go forward only');
      }
    };
  });
}
