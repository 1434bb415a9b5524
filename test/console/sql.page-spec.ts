import { readFile } from 'node:fs/promises';
import type { Route } from '@playwright/test';
import { column, failed } from '../support/fakes/fake-trino.js';
import { expectAccessible } from './running/accessibility.js';
import { expect, passwordOf, test } from './running/console-test.js';

test.use({ environment: { QUERY_MAX_ROWS: '2000' } });

const COLUMNS = [column('country', 'varchar'), column('orders', 'bigint')];

test('a statement runs, shows its rows and is saved as CSV', async ({ page, grantline, records, signIn }) => {
  await records.person('sven');
  await signIn('sven');
  grantline.engine.answers('SELECT orders', {
    columns: COLUMNS,
    data: [
      ['<script>alert(1)</script>', 412],
      [null, 7],
    ],
  });

  await page.goto('/sql');
  const editor = page.getByRole('textbox', { name: 'SQL statement' });
  await editor.fill('SELECT orders;');
  await editor.press('Control+Enter');
  const results = page.getByRole('table', { name: 'Results' });
  await expect(results.getByRole('row')).toHaveText([
    'country varcharorders bigint',
    '<script>alert(1)</script>412',
    'NULL7',
  ]);
  await expect(page.getByRole('status')).toHaveText(/^2 rows, /);
  const ran = grantline.engine.statements.filter(({ sql }) => sql === 'SELECT orders');
  expect(ran.map(({ session }) => session)).toEqual([expect.objectContaining({ user: 'sven' })]);
  await expectAccessible(page);

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'CSV' }).click(),
  ]);
  expect(await readFile(await download.path(), 'utf8')).toBe(
    'country,orders\r\n<script>alert(1)</script>,412\r\n,7\r\n',
  );
  await page.getByRole('link', { name: 'My access' }).click();
  await page.getByRole('link', { name: 'SQL', exact: true }).click();
  await expect(editor).toHaveText('SELECT orders;');
});

test('a refusal of the engine says what it was and leads to why', async ({ page, grantline, records, signIn }) => {
  const id = await records.person('tilda');
  await signIn('tilda');
  const denied = 'Access Denied: Cannot select from columns [amount] in table or view finance.ledger.invoices';
  grantline.engine.answers('SELECT amount', failed('PERMISSION_DENIED', denied));

  await page.goto('/sql');
  await page.getByRole('textbox', { name: 'SQL statement' }).fill('SELECT amount');
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('alert')).toContainText('The engine refused this statement');
  await expect(page.getByRole('alert')).toContainText('finance.ledger.invoices');
  await expect(page.getByRole('link', { name: 'Why?' })).toHaveAttribute(
    'href',
    `/why?principal=user%3A${id}&privilege=SELECT&catalog=finance&schema=ledger&table=invoices`,
  );
  await expect(page.getByRole('textbox', { name: 'SQL statement' })).toHaveText('SELECT amount');
  await expectAccessible(page);
});

test('a statement that runs is cancelled, on the engine as well', async ({ page, grantline, records, signIn }) => {
  await records.person('uwe');
  await signIn('uwe');
  let go = (): void => undefined;
  const after = new Promise<void>((resolve) => (go = resolve));
  grantline.engine.answers('SELECT slowly', { state: 'RUNNING' }, { columns: COLUMNS, data: [], after });

  await page.goto('/sql');
  await page.getByRole('textbox', { name: 'SQL statement' }).fill('SELECT slowly');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('button', { name: 'Cancel query' }).click();
  await expect(page.getByRole('alert')).toContainText('The statement was cancelled');
  await expect(page.getByRole('button', { name: 'Cancel query' })).toHaveCount(0);
  await expect.poll(() => grantline.engine.statements.find(({ sql }) => sql === 'SELECT slowly')?.cancelled).toBe(true);
  go();
});

/** Writes a line at the cursor, and runs what stands there before the page has drawn it. */
const WRITE_AND_RUN = `(async (content) => {
  document.execCommand('insertText', false, '\\n-- once');
  await null;
  content.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', keyCode: 13, ctrlKey: true, bubbles: true }));
})(document.activeElement.shadowRoot.activeElement)`;

test('the text that stands in the editor is what runs, after the session has ended as well', async ({
  page,
  context,
  grantline,
  records,
  signIn,
  watch,
}) => {
  await records.person('ylva');
  await signIn('ylva');
  for (const sql of ['SELECT kept', 'SELECT kept\n-- once'])
    grantline.engine.answers(sql, { columns: COLUMNS, data: [['SE', 1]] });
  await page.goto('/sql');
  const editor = page.getByRole('textbox', { name: 'SQL statement' });
  await editor.fill('SELECT kept');
  await watch.settled(); // nothing but the statement finds that the session has ended
  await context.clearCookies();
  watch.provokes(401);
  await page.getByRole('button', { name: 'Run' }).click();
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await again.getByRole('textbox', { name: 'Password' }).fill(passwordOf('ylva'));
  await again.getByRole('button', { name: 'Sign in' }).click();
  await expect(again).toBeHidden();
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('status')).toHaveText(/^1 row, /);

  await editor.press('Control+End');
  await page.evaluate(WRITE_AND_RUN);
  const ran = (): string[] => grantline.engine.statements.map(({ sql }) => sql).filter((sql) => sql.includes('kept'));
  await expect.poll(ran).toEqual(['SELECT kept', 'SELECT kept\n-- once']);
});

test('names that the person may see are completed, and rows come as somebody scrolls', async ({
  page,
  grantline,
  records,
  signIn,
}) => {
  const id = await records.person('vera');
  await records.grant({ type: 'user', id }, 'sales.eu.orders');
  await signIn('vera');
  const rows = Array.from({ length: 1500 }, (_, row) => [`C${row}`, row]);
  grantline.engine.answers('SELECT many', { columns: COLUMNS, data: rows });

  await page.goto('/sql');
  const editor = page.getByRole('textbox', { name: 'SQL statement' });
  await editor.pressSequentially('sales.e');
  await expect(page.getByRole('option', { name: 'eu' })).toBeVisible();
  await page.keyboard.press('Escape');

  await editor.fill('SELECT many');
  await editor.press('Control+Enter');
  await expect(page.getByRole('status')).toHaveText(/^the first 1,000 rows, /);
  expect(await page.getByRole('row').count()).toBeLessThan(60);
  await page.keyboard.press('Tab');
  await expect(async () => {
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
    await expect(page.getByRole('status')).toHaveText(/^1,500 rows, /, { timeout: 500 });
  }).toPass();
});

test('a result that the limit of rows has cut says so', async ({ page, grantline, records, signIn }) => {
  await records.person('wim');
  await signIn('wim');
  const rows = Array.from({ length: 2500 }, (_, row) => [`C${row}`, row]);
  grantline.engine.answers('SELECT more', { columns: COLUMNS, data: rows });
  await page.goto('/sql');
  const editor = page.getByRole('textbox', { name: 'SQL statement' });
  await editor.fill('SELECT more');
  await editor.press('Control+Enter');
  await expect(page.getByRole('status')).toHaveText(/^the first 1,000 rows, /);
  await page.keyboard.press('Tab');
  await expect(async () => {
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
    await expect(page.getByRole('status')).toHaveText(/^the first 2,000 rows: the service's limit, /, { timeout: 500 });
  }).toPass();
});

test('too many statements and unread rows are no attempts', async ({ page, records, signIn, watch }) => {
  await records.person('xara');
  await signIn('xara');
  watch.provokes(429);
  await page.goto('/sql');
  await page.getByRole('textbox', { name: 'SQL statement' }).fill('SELECT one more');
  for (const [code, text] of [
    ['too_many_queries', 'Too many of your statements are running.'],
    ['too_many_unread_rows', 'Your statements hold too many unread rows.'],
  ] as const) {
    const json = { code, status: 429, detail: 'Refused', request_id: 'r-4' };
    await page.route('**/api/queries', (route) =>
      route.fulfill({ status: 429, headers: { 'Retry-After': '5' }, json }),
    );
    await page.getByRole('button', { name: 'Run' }).click();
    await expect(page.getByRole('alert')).toContainText(text);
    await page.unroute('**/api/queries');
  }
});

test('names of the schema are offered before keywords', async ({ page, records, signIn }) => {
  const id = await records.person('wanda');
  await records.grant({ type: 'user', id }, 'sales.eu.orders');
  await signIn('wanda');
  await page.goto('/sql');
  await page.getByRole('combobox', { name: 'Catalog' }).fill('sales');
  await page.getByRole('combobox', { name: 'Schema' }).fill('eu');
  await page.getByRole('textbox', { name: 'SQL statement' }).pressSequentially('SELECT * FROM OR');
  await expect(page.getByRole('option', { name: 'ORDER', exact: true })).toBeVisible();
  await expect(page.getByRole('option').first()).toHaveText('orders');
  await expectAccessible(page);
});

test('no button runs a statement again that changes data', async ({ page, grantline, records, signIn }) => {
  await records.person('zora');
  await signIn('zora');
  const sql = 'INSERT INTO orders SELECT 1';
  grantline.engine.answers(sql, {
    columns: [column('rows', 'bigint')],
    data: [[1]],
    updateType: 'INSERT',
    updateCount: 1,
  });
  await page.goto('/sql');
  await page.getByRole('textbox', { name: 'SQL statement' }).fill(sql);
  await page.getByRole('button', { name: 'Run' }).click();
  await expect(page.getByRole('status')).toHaveText(/^1 row, /);
  await expect(page.getByRole('link', { name: 'CSV' })).toHaveCount(0);
});

test('further rows that cannot be read are asked for once, and again by Retry; a new statement ends that', async ({
  page,
  grantline,
  records,
  signIn,
  watch,
}) => {
  await records.person('abel');
  await signIn('abel');
  const rows = Array.from({ length: 1500 }, (_, row) => [`C${row}`, row]);
  grantline.engine.answers('SELECT halves', { columns: COLUMNS, data: rows });
  grantline.engine.answers('SELECT few', { columns: COLUMNS, data: [['SE', 1]] });
  watch.provokes(500);
  let requests = 0;
  await page.route('**/rows?**after=**', (route) => {
    requests += 1;
    return route.fulfill({
      status: 500,
      json: { code: 'internal_error', status: 500, detail: 'No', request_id: 'r-7' },
    });
  });
  await page.goto('/sql');
  const editor = page.getByRole('textbox', { name: 'SQL statement' });
  const status = page.getByRole('status');
  await editor.fill('SELECT halves');
  await editor.press('Control+Enter');
  await expect(status).toHaveText(/^the first 1,000 rows, /);
  await page.keyboard.press('Tab');
  await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
  const alert = page.getByRole('alert');
  await expect(alert).toContainText('r-7');
  await watch.settled();
  expect(requests).toBe(1);
  await page.unroute('**/rows?**after=**');
  await alert.getByRole('button', { name: 'Retry' }).click();
  await expect(status).toHaveText(/1,500 rows, /);

  await editor.press('Control+Enter');
  await expect(status).toHaveText(/^the first 1,000 rows, /);
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const holdBack = async (route: Route): Promise<void> => {
    await released;
    await route.continue();
  };
  await page.route('**/rows?**after=**', holdBack, { times: 1 });
  const late = page.waitForRequest(/rows\?.*after=/);
  await page.keyboard.press('Tab');
  await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
  await late;
  await editor.press('Control+a');
  await editor.press('Delete');
  await editor.fill('SELECT few');
  await editor.press('Control+Enter');
  await expect(status).toHaveText(/^1 row, /);
  watch.provokes(409); // the rows of a query that the new statement has cancelled
  release();
  await watch.settled();
  await expect(alert).toHaveCount(0);
  await expect(status).toHaveText(/^1 row, /);
});
