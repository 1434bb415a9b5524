import { readFileSync, writeFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { createApplication } from '../../src/application.js';
import { ERRORS } from '../../src/kernel/errors.js';
import { parseSettings } from '../../src/platform/settings/settings-parser.js';
import { freshDatabase, type TestDatabase } from '../support/database/database.js';
import { LogBook } from '../support/fakes/log-book.js';

const GUIDE = 'docs/operations-reference.md';
/** Set by `npm run docs:reference`: the tables are written instead of compared. */
const WRITES = process.env['GRANTLINE_WRITE_REFERENCE'] === 'yes';

describe(GUIDE, () => {
  let database: TestDatabase;
  beforeAll(async () => (database = await freshDatabase()));
  afterAll(() => database.drop());

  /** With an engine, its tokens, OPA and the database's own clock, which have metrics too. */
  async function exposedMetrics(): Promise<string[][]> {
    const { settings } = parseSettings({
      AUTH_SECRET_KEY: 'only-for-tests-0123456789-abcdefghijklmnop',
      ACL_TARGET: 'file,opa',
      SERVICE_QUERY_HOST: '127.0.0.1',
      SERVICE_QUERY_JWT_ENABLED: 'true',
      SERVICE_QUERY_JWT_ISSUER_URL: 'http://127.0.0.1:9/realms/data',
      SERVICE_QUERY_JWT_CLIENT_ID: 'grantline',
      SERVICE_QUERY_JWT_CLIENT_SECRET: 'grantline-secret',
    });
    const { app, operations, close } = await createApplication(settings, database, new LogBook());
    const metrics = app.get(Registry).getMetricsAsArray();
    await close(AbortSignal.abort());
    await operations.close();
    return metrics
      .filter(({ name }) => name.startsWith('grantline_'))
      .map(({ name, type, help }) => [`\`${name}\``, String(type), help])
      .sort(([one = ''], [other = '']) => one.localeCompare(other));
  }

  it('has the metrics that the service exposes, and the codes of its errors', async () => {
    const codes = Object.entries(ERRORS).map(([code, { status, text }]) => [`\`${code}\``, String(status), text]);
    const written = readFileSync(GUIDE, 'utf8');
    const withMetrics = withTable(written, 'Metrics', [['metric', 'type', 'meaning'], ...(await exposedMetrics())]);
    const generated = withTable(withMetrics, 'Error codes', [['code', 'status', 'text'], ...codes]);
    if (WRITES) writeFileSync(GUIDE, generated);
    else expect(written).toBe(generated);
  });
});

/** The text with this table in place of the first one of a section. */
function withTable(text: string, section: string, [head = [], ...rows]: string[][]): string {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((cells) => cells[i]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |\n`;
  const table = [head, widths.map((width) => '-'.repeat(width)), ...rows].map(line).join('');
  const place = new RegExp(`(^##+ ${section}\n(?:(?!\\||#)[^\n]*\n)*)(?:\\|[^\n]*\n)*`, 'm');
  if (!place.test(text)) throw new Error(`there is no section "${section}"`);
  return text.replace(place, (_, before: string) => `${before}${table}`);
}
