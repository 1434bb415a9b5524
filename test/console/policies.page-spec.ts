import type { Page } from '@playwright/test';
import type { ApiClient } from '../support/service/api-client.js';
import { expectAccessible } from './running/accessibility.js';
import { expect, openSession, test } from './running/console-test.js';

const MASK = "'***'";
const before = (page: Page) => page.getByRole('region', { name: 'Rows before' });
const after = (page: Page) => page.getByRole('region', { name: 'Rows after' });
const expression = (page: Page) => page.getByRole('textbox', { name: 'Expression' });

async function policyOn(admin: ApiClient, catalog: string, part: object): Promise<number> {
  const { status, body } = await admin.post('/api/admin/policies', {
    kind: 'row_filter',
    principal: { type: 'everyone' },
    resource: { catalog, schema: 'eu', table: 'orders' },
    expression: "region = 'EU'",
    ...part,
  });
  expect(status).toBe(201);
  return Number(body?.['id']);
}

test('a new mask shows in the rows after it, and who loses sight, before it is saved', async ({
  page,
  records,
  admin,
  grantline,
  signIn,
}) => {
  const pia = await records.person('pia');
  await records.grant({ type: 'user', id: pia }, 'mk_sales');
  const mask = `(\n${MASK}\n)`;
  for (const [saved, type, value] of [['true', 'boolean', true] as const, [mask, 'varchar', '***'] as const]) {
    grantline.engine.answers(`SELECT *, ${saved}, ${mask} FROM "mk_sales"."eu"."orders" LIMIT 20`, {
      columns: [
        { name: 'id', type: 'integer' },
        { name: 'email', type: 'varchar' },
        { name: '_col2', type },
        { name: '_col3', type: 'varchar' },
      ],
      data: [
        [1, 'quinn@example.org', value, '***'],
        [2, null, value, '***'],
      ],
    });
  }
  grantline.engine.answers('SHOW COLUMNS FROM mk_sales.eu.orders', {
    columns: ['Column', 'Type', 'Extra', 'Comment'].map((name) => ({ name, type: 'varchar' })),
    data: [
      ['id', 'integer', '', ''],
      ['email', 'varchar', '', ''],
    ],
  });
  await signIn('admin');
  await page.goto('/policies');
  await page.getByRole('link', { name: 'New policy' }).click();
  await expect(page).toHaveTitle('New policy · Grantline');

  await page.getByRole('radio', { name: 'Column mask' }).check({ force: true });
  await expect(page.getByText('all writing and ownership. What no rule can close: docs/limits.md')).toBeVisible();
  await page.getByRole('combobox', { name: 'Person or group' }).fill('pia');
  await page.getByRole('option', { name: 'pia' }).click();
  await page.getByRole('combobox', { name: 'Catalog' }).fill('mk_sales');
  await page.getByRole('combobox', { name: 'Schema' }).fill('eu');
  await expect(after(page)).toContainText('Name a table to see its rows.');
  await page.getByRole('combobox', { name: 'Table' }).fill('orders');
  const column = page.getByRole('combobox', { name: 'Column' });
  await column.fill('mai');
  await expect(page.getByRole('option')).toHaveText(['emailvarchar']);
  await expectAccessible(page);
  await column.press('ArrowDown');
  await column.press('Enter');
  await expect(column).toHaveValue('email');
  await expression(page).fill(MASK);

  await expect(before(page).getByRole('cell')).toHaveText(['quinn@example.org', '1', 'NULL', '2']);
  await expect(after(page).getByRole('cell')).toHaveText(['***', '1', '***', '2']);
  await expect(page.getByRole('region', { name: 'Who loses' }).getByRole('listitem')).toHaveText(['PIpia (person)']);
  await expectAccessible(page);
  const list = async () => (await admin.get('/api/admin/policies?catalog=mk_sales')).body?.['items'];
  expect(await list()).toEqual([]);

  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page).toHaveURL(/\/policies\/\d+$/);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Mask email in mk_sales.eu.orders');
  await expect(before(page).getByRole('cell')).toHaveText(['***', '1', '***', '2']);
  const save = page.getByRole('button', { name: 'Save' });
  await expect(save).toBeDisabled(); // nothing is changed
  await expression(page).fill("'???'");
  await expect(save).toBeEnabled();
  expect(await list()).toEqual([expect.objectContaining({ kind: 'column_mask', expression: MASK })]);
});

test('of two administrators the second is told, and overwrites nothing unseen', async ({
  page,
  browser,
  records,
  admin,
  grantline,
  signIn,
  watch,
}) => {
  await records.administrator('rosa');
  const id = await policyOn(admin, 'tw_sales', {});
  const path = `/policies/${id}`;
  const stored = async () => (await admin.get(`/api/admin${path}`)).body?.['expression'];
  await signIn('admin');
  await page.goto(path);
  await expression(page).fill("region = 'mine'");

  const context = await browser.newContext({ baseURL: grantline.url });
  await openSession(context, grantline.url, 'rosa');
  const other = await context.newPage();
  await other.goto(path);
  await expression(other).fill("region = 'theirs'");
  await other.getByRole('button', { name: 'Save' }).click();
  await expect(other.getByRole('status').filter({ hasText: 'is saved' })).toBeVisible();
  await context.close();

  watch.provokes(412);
  await page.getByRole('button', { name: 'Save' }).click();
  const alert = page.getByRole('alert');
  await expect(alert).toContainText('rosa changed this policy at ');
  await expect(expression(page)).toHaveValue("region = 'mine'");
  expect(await stored()).toBe("region = 'theirs'");
  await alert.getByRole('button', { name: 'Compare' }).click();
  await expect(alert).toContainText("region = 'theirs'");
  await expectAccessible(page);
  await alert.getByRole('button', { name: 'Keep mine' }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('status').filter({ hasText: 'is saved' })).toBeVisible();
  expect(await stored()).toBe("region = 'mine'");
});

test('what is typed while a policy is being saved stays', async ({ page, admin, signIn, watch }) => {
  await signIn('admin');
  await page.goto(`/policies/${await policyOn(admin, 'ty_sales', {})}`);
  const save = page.getByRole('button', { name: 'Save' });
  let release = (): void => undefined;
  await page.route('**/api/admin/policies/*', async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    await new Promise<void>((resolve) => (release = resolve));
    return route.continue();
  });
  await expression(page).fill("region = 'US'");
  const sent = page.waitForRequest((request) => request.method() === 'PUT');
  await save.click();
  await sent;
  await expression(page).fill("region = 'UK'");
  release();
  await expect(page.getByRole('status').filter({ hasText: 'is saved' })).toBeVisible();
  await page.unroute('**/api/admin/policies/*');
  await watch.settled();

  await expect(expression(page)).toHaveValue("region = 'UK'");
  await save.click();
  const items = async () => (await admin.get('/api/admin/policies?catalog=ty_sales')).body?.['items'];
  await expect.poll(items).toEqual([expect.objectContaining({ expression: "region = 'UK'" })]);
});

test('a deny is listed, and deleted once it was shown who gains', async ({ page, records, admin, signIn }) => {
  const sam = await records.person('sam');
  await records.grant({ type: 'user', id: sam }, 'dn_sales');
  const resource = { catalog: 'dn_sales', schema: 'hr' };
  const id = await policyOn(admin, 'dn_sales', {
    kind: 'deny',
    resource,
    expression: undefined,
    privileges: ['SELECT'],
  });
  await signIn('admin');
  await page.goto('/policies?q=dn_sales');
  await expect(page.getByRole('table', { name: 'Policies' }).getByRole('row')).toHaveCount(2);
  await expectAccessible(page);
  await page.getByRole('link', { name: `Deny ${id}` }).click();
  await page.getByRole('button', { name: 'Delete…' }).click();
  const dialog = page.getByRole('dialog', { name: `Delete policy ${id}?` });
  await expect(dialog.getByRole('region', { name: 'Who gains' }).getByRole('listitem')).toHaveText(['SAsam (person)']);
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await expect(page).toHaveURL(/\/policies$/);
  expect((await admin.get(`/api/admin/policies/${id}`)).status).toBe(404);
});

test('a draft is kept in its address, of a new policy as of a saved one; the history is a link', async ({
  page,
  records,
  admin,
  signIn,
}) => {
  await records.person('quin');
  const id = await policyOn(admin, 'ad_sales', {});
  await signIn('admin');
  await page.goto(`/policies/${id}`);
  await expect(page.getByRole('link', { name: 'History' })).toHaveAttribute('href', `/audit?subject=policy:${id}`);
  await expression(page).fill("region LIKE '%ed%+'");
  await page.getByRole('button', { name: 'Add' }).click();
  await page.getByRole('combobox', { name: 'Exception' }).fill('quin');
  await page.getByRole('option', { name: 'quin', exact: true }).click();
  await expect(page).toHaveURL(/except=user/);
  await page.reload();
  await expect(expression(page)).toHaveValue("region LIKE '%ed%+'");
  await expect(page.getByRole('group', { name: 'Except' })).toContainText('quin');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page).toHaveURL(new RegExp(`/policies/${id}$`));
  await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();

  await page.goto('/policies/new');
  await page.getByRole('radio', { name: 'Hidden column' }).check({ force: true });
  await page.getByRole('combobox', { name: 'Column' }).fill('card_token');
  await expect(page).toHaveURL(/kind=hidden_column.*column=card_token/);
  await page.reload();
  await expect(page.getByRole('combobox', { name: 'Column' })).toHaveValue('card_token');
});

test('without an engine a policy says so, and not that none answers', async ({ page, admin, signIn, watch }) => {
  watch.provokes(503);
  const detail = 'No engine is configured (SERVICE_QUERY_HOST).';
  const json = { code: 'engine_unavailable', status: 503, detail, request_id: 'r-3' };
  await page.route('**/api/queries', (route) => route.fulfill({ status: 503, json }));
  await signIn('admin');
  await page.goto(`/policies/${await policyOn(admin, 'ne_sales', {})}`);
  await expect(after(page)).toContainText('No engine is configured');
  await expect(page.getByText('does not answer')).toHaveCount(0);
});

/** What the browser does when somebody comes back to the tab. */
const COME_BACK = `window.dispatchEvent(new Event('visibilitychange'))`;

test('a policy that was changed meanwhile is shown as it is, and can be deleted then', async ({
  page,
  admin,
  signIn,
  watch,
}) => {
  const id = await policyOn(admin, 'cm_sales', {});
  const resource = { catalog: 'cm_sales', schema: 'eu', table: 'orders' };
  const change = (text: string) =>
    admin.send('PUT', `/api/admin/policies/${id}`, {
      ...{ kind: 'row_filter', principal: { type: 'everyone' }, resource, expression: text },
    });
  await signIn('admin');
  await page.goto(`/policies/${id}`);
  await expect(expression(page)).toHaveValue("region = 'EU'");
  await change("region = 'UK'");
  await page.evaluate(COME_BACK);
  await expect(expression(page)).toHaveValue("region = 'UK'");

  await change("region = 'CH'");
  watch.provokes(412);
  const dialog = page.getByRole('dialog', { name: `Delete policy ${id}?` });
  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await expect(dialog.getByRole('alert')).toContainText('changed meanwhile');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await expect(expression(page)).toHaveValue("region = 'CH'");
  await page.getByRole('button', { name: 'Delete…' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await expect(page).toHaveURL(/\/policies$/);
});
