// A PostgreSQL in the folder that the argument names, until SIGTERM. Writes where it is, as JSON in one line.
import { joinEmbeddedPostgres } from '../../../src/platform/database/embedded-postgres.js';

const folder = process.argv[2] ?? '';
const options = ['fsync=off', 'full_page_writes=off'];
const database = await joinEmbeddedPostgres(folder, () => undefined, options);
process.once('SIGTERM', () => void database.release());
console.log(JSON.stringify({ url: database.url, migrationUrl: database.migrationUrl }));
