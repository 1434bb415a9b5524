import { readFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

const gains = (page: Page) => page.getByRole('region', { name: 'Who gains' });
const loses = (page: Page) => page.getByRole('region', { name: 'Who loses' });
const names = (page: Page, region: 'Who gains' | 'Who loses') =>
  page.getByRole('region', { name: region }).getByRole('listitem');

async function choose(page: Page, field: string, name: string): Promise<void> {
  await page.getByRole('combobox', { name: field }).fill(name);
  await page.getByRole('option', { name }).first().click();
}

test('a draft to a group says exactly who gains; nothing is written before it is granted', async ({
  page,
  records,
  admin,
  signIn,
}) => {
  const [gil, hana, ivo] = [await records.person('gil'), await records.person('hana'), await records.person('ivo')];
  await records.person('jon');
  const group = await records.group('gr-readers', gil, hana, ivo);
  await records.grant({ type: 'user', id: ivo }, 'gr_sales');
  const grants = async (): Promise<unknown[]> =>
    (await admin.get(`/api/admin/grants?principal=group:${group}`)).body?.['items'] as unknown[];
  await signIn('admin');

  await page.goto('/grants/new');
  await expect(page).toHaveTitle('New grant · Grantline');
  await expectAccessible(page);
  await choose(page, 'Person or group', 'gr-readers');
  await page.getByRole('combobox', { name: 'Catalog' }).fill('gr_sales');
  await page.getByRole('combobox', { name: 'Schema' }).fill('eu');
  await page.getByRole('group', { name: 'Privileges' }).getByRole('checkbox', { name: 'SELECT', exact: true }).check();
  await page.getByRole('textbox', { name: 'Expires' }).fill('2099-03-31');
  await page.getByRole('textbox', { name: 'Description' }).fill('the yearly report');

  await expect(names(page, 'Who gains')).toHaveText(['GIgil (person)', 'HAhana (person)']);
  await expect(loses(page)).toContainText('Nobody loses anything.');
  await expect(page.getByText('0 people lose')).toBeVisible();
  await expect(page.getByText('−0')).toHaveCount(0);
  await expect(page.getByRole('region', { name: 'Unchanged' }).getByRole('listitem')).toHaveText(['IVivo (person)']);
  await expectAccessible(page);
  expect(await grants()).toEqual([]);

  await page.reload();
  await expect(page.getByRole('combobox', { name: 'Person or group' })).toHaveValue('gr-readers');
  await page.getByRole('button', { name: 'Grant to 2 people' }).click();
  await page.getByRole('link', { name: 'See who' }).click(); // it goes away by itself after some seconds
  await expect(page).toHaveURL(/\/data\/gr_sales\/eu$/);
  expect(await grants()).toEqual([
    expect.objectContaining({
      resource: { catalog: 'gr_sales', schema: 'eu' },
      privileges: ['SELECT'],
      expires_at: '2099-03-31T23:59:59.999Z',
    }),
  ]);
  const holders = page.getByRole('table', { name: 'People with access' });
  await expect(holders.getByRole('row', { name: /hana/ })).toContainText('through group gr-readers, until 31 Mar 2099');
  await page.getByRole('tab', { name: 'Grants' }).click();
  await expect(page.getByRole('table', { name: 'Grants' }).getByRole('row', { name: /gr-readers/ })).toContainText(
    'the yearly report',
  );
});

test('grants on everything, to everyone, and over queries are shown before they are made', async ({
  page,
  records,
  signIn,
}) => {
  await records.person('kim');
  await records.person('lia');
  await signIn('admin');

  await page.goto('/grants/new?principal=everyone&privilege=SELECT');
  await expect(page.getByRole('combobox', { name: 'Person or group' })).toHaveValue('Everyone');
  await expect(gains(page)).toContainText('everything');
  await expect(names(page, 'Who gains').filter({ hasText: 'kim (person)' })).toBeVisible();
  await expect(page.getByRole('button', { name: /^Grant to \d+ people$/ })).toBeVisible();

  await page.goto('/engine');
  await expect(page.getByRole('heading', { level: 1, name: 'Engine' })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('link', { name: 'New grant' }).click();
  await choose(page, 'Person or group', 'kim');
  await expect(page.getByRole('group', { name: 'Privileges' }).getByRole('checkbox')).toHaveCount(5);
  await page.getByRole('checkbox', { name: 'KILL_QUERIES' }).check();
  await expect(gains(page)).toContainText('gains KILL_QUERIES on the engine');
  await page.getByRole('button', { name: 'Grant to 1 person' }).click();
  await expect(page).toHaveURL(/\/grants$/);
  await page.goto('/engine');
  await expect(page.getByRole('table', { name: 'Queries and system' })).toContainText('kim');

  await page.goto('/grants/new?privilege=VIEW_QUERIES');
  await page.getByRole('radio', { name: 'Queries of' }).check({ force: true });
  await choose(page, 'Person or group', 'kim');
  await choose(page, 'Whose', 'lia');
  await page.getByRole('checkbox', { name: 'VIEW_QUERIES' }).check();
  await expect(gains(page)).toContainText('gains VIEW_QUERIES on queries of lia');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Grant to 1 person' }).click();
  await expect(page).toHaveURL(/\/grants$/);
  await page.goto('/engine');
  await expect(page.getByRole('table', { name: 'Queries and system' })).toContainText(/queries of .*lia/);
});

test('a grant that another one replaces stays if the draft is then for another principal or node', async ({
  page,
  records,
  admin,
  signIn,
}) => {
  const [rae, sol] = [await records.person('rae'), await records.person('sol')];
  const grant = await records.grant({ type: 'user', id: rae }, 'rp_sales');
  await records.grant({ type: 'user', id: sol }, 'rp_sales.eu');
  await signIn('admin');
  const revoke = page.getByRole('checkbox', { name: `Revoke grant ${grant}` });
  const address = `/grants/new?principal=user:${rae}&catalog=rp_sales&privilege=SELECT`;
  const changes = {
    catalog: () => page.getByRole('combobox', { name: 'Catalog' }).fill('rp_other'),
    kind: () => page.getByRole('radio', { name: 'Engine' }).check({ force: true }),
    principal: () => choose(page, 'Person or group', 'sol'),
  };
  for (const change of Object.values(changes)) {
    await page.goto(address);
    await revoke.check();
    await expect(page).toHaveURL(new RegExp(`revoke=${grant}`));
    await change();
    await expect(page).not.toHaveURL(/revoke=/);
    await expect(revoke).toHaveCount(0);
  }
  await page.getByRole('button', { name: 'Grant to 1 person' }).click();
  await expect(page).toHaveURL(/\/grants$/);
  expect((await admin.get(`/api/admin/grants?principal=user:${rae}`)).body?.['items']).toHaveLength(1);

  // An address can name a grant on another node. What it revokes is shown.
  await page.goto(`/grants/new?principal=user:${sol}&catalog=rp_sales&privilege=SELECT&revoke=${grant}`);
  await expect(revoke).toBeChecked();
  await revoke.click();
  await expect(page).not.toHaveURL(/revoke=/);
});

test('a revoke says who loses what, also at its copied address', async ({ page, records, signIn }) => {
  const [lars, mia] = [await records.person('lars'), await records.person('mia')];
  const group = await records.group('rv-readers', lars, mia);
  await records.grant({ type: 'group', id: group }, 'rv_sales');
  await records.grant({ type: 'user', id: mia }, 'rv_sales');
  await signIn('admin');

  await page.goto('/grants');
  await page.getByRole('textbox', { name: 'Search' }).fill('rv-read');
  const table = page.getByRole('table', { name: 'Grants' });
  await expect(table.getByRole('row')).toHaveCount(2);
  await expectAccessible(page);
  await table.getByRole('button', { name: 'Revoke' }).click();
  const dialog = page.getByRole('dialog', { name: /^Revoke grant \d+\?$/ });
  await page.reload();
  await expect(dialog.getByRole('region', { name: 'Who loses' }).getByRole('listitem')).toHaveText(['LAlars (person)']);
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('heading', { name: 'No grant matches' })).toBeVisible();
});

test('previews in dialogs and of policies read all people, page by page', async ({ page, records, admin, signIn }) => {
  const [amy, zed] = [await records.person('pg_amy'), await records.person('pg_zed')];
  const group = await records.group('pg-readers', amy, zed);
  await records.grant({ type: 'group', id: group }, 'pg_sales');
  const deny = { kind: 'deny', principal: { type: 'user', id: amy }, resource: { catalog: 'pg_sales', schema: 'eu' } };
  const { body } = await admin.post('/api/admin/policies', deny);
  await signIn('admin');
  const preview = '**/api/admin/access/preview?*';
  await page.route(preview, (route) => route.continue({ url: route.request().url().replace('limit=1000', 'limit=1') }));
  const more = page.getByRole('button', { name: 'Read more people' });

  await page.goto('/grants?q=pg-read');
  await page.getByRole('button', { name: 'Revoke' }).click();
  await expect(loses(page)).toContainText('2 people');
  await expect(loses(page).getByRole('listitem')).toHaveText(['PApg_amy (person)']);
  await more.click();
  await expect(loses(page).getByRole('listitem')).toHaveText(['PApg_amy (person)', 'PZpg_zed (person)']);
  await expect(more).toBeHidden();

  await page.goto(`/policies/${String(body?.['id'])}`);
  await page.getByRole('combobox', { name: 'Person or group' }).fill('pg_zed');
  await page.getByRole('option', { name: 'pg_zed' }).click();
  await expect(page.getByRole('region', { name: 'Who gains' })).toContainText('pg_amy');
  await expect(loses(page)).not.toContainText('Nobody');
  await more.click();
  await expect(loses(page)).toContainText('pg_zed');
});

test('what is revoked is not asked about any more, from the press of the button on', async ({
  page,
  records,
  signIn,
}) => {
  await records.grant({ type: 'user', id: await records.person('nils') }, 'rw_sales');
  await signIn('admin');
  await page.goto('/grants?q=rw_sales');
  await page.getByRole('button', { name: 'Revoke' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('region', { name: 'Who loses' })).toContainText('nils');

  const preview = '**/api/admin/access/preview?*';
  await page.route(preview, () => undefined); // no answer
  const asked = page.waitForRequest(preview);
  await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
  const request = await asked;
  const abandoned = page.waitForEvent('requestfailed', (failed) => failed === request);
  await page.route('**/api/admin/grants/*', async (route) => {
    await abandoned;
    await route.continue();
  });
  const later: string[] = [];
  page.on('request', (each) => each.url().includes('/access/preview') && later.push(each.url()));
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByRole('heading', { name: 'No grant matches' })).toBeVisible();
  await expect(dialog).toBeHidden();
  expect(later).toEqual([]);
});

test('a draft outlives a service that does not answer', async ({ page, records, signIn, watch }) => {
  await records.person('olaf');
  await signIn('admin');
  await page.goto('/grants/new?catalog=dr_sales&privilege=SELECT');
  await choose(page, 'Person or group', 'olaf');
  const button = page.getByRole('button', { name: 'Grant to 1 person' });
  await expect(button).toBeEnabled();

  watch.provokes(503, 'net::ERR_CONNECTION_REFUSED');
  await page.route('**/api/admin/grants/batch', (route) => route.abort('connectionrefused'));
  await button.click();
  const alert = page.getByRole('alert');
  await expect(alert).toContainText('The service does not answer. What you typed is kept.');
  await expect(page.getByRole('combobox', { name: 'Person or group' })).toHaveValue('olaf');
  await page.unroute('**/api/admin/grants/batch');
  const problem = { code: 'database_unavailable', status: 503, detail: 'Database unavailable', request_id: 'r-1' };
  await page.route('**/api/admin/grants/batch', (route) => route.fulfill({ status: 503, json: problem }));
  await alert.getByRole('button', { name: 'Retry' }).click();
  await expect(alert).toContainText('The service cannot reach its database. What you typed is kept.');
  await expect(alert).toContainText('r-1');
  await expect(page.getByRole('combobox', { name: 'Person or group' })).toHaveValue('olaf');
  await expect(page.getByRole('combobox', { name: 'Catalog' })).toHaveValue('dr_sales');

  await page.unroute('**/api/admin/grants/batch');
  await alert.getByRole('button', { name: 'Retry' }).click();
  await expect(page).toHaveURL(/\/grants$/);
});

test('a draft of members asks before it is left; its group leads to a grant, at the width of a phone as well', async ({
  page,
  records,
  signIn,
}) => {
  await records.person('tess');
  const group = await records.group('led readers');
  await signIn('admin');
  await page.goto(`/groups/${group}`);
  await choose(page, 'Person or group', 'tess');
  await expect(page.getByRole('row', { name: /tess/ })).toContainText('joins');
  const link = page.getByRole('link', { name: 'New grant' });
  page.once('dialog', (question) => {
    expect(question.message()).toBe('Leave this page? Its changes are not saved.');
    void question.dismiss();
  });
  await link.click();
  await expect(page).toHaveURL(/\/groups\/\d+$/);
  page.once('dialog', (question) => void question.accept());
  await link.click();
  await expect(page.getByRole('combobox', { name: 'Person or group' })).toHaveValue('led readers');
  await page.getByRole('link', { name: 'Why', exact: true }).click();
  await expect(page).toHaveURL(/\/why$/);
  await page.goto(`/grants?principal=group:${group}`);
  await expect(page.getByRole('button', { name: 'Remove Holder led readers' })).toBeVisible();

  await page.setViewportSize({ width: 320, height: 640 });
  for (const on of ['data', 'routine', 'engine', 'queries', 'acting']) {
    await page.goto(`/grants/new?principal=group:${group}&on=${on}&catalog=led_sales`);
    await expect(page.getByRole('group', { name: 'Privileges' })).toBeVisible();
    expect(await page.evaluate('document.documentElement.scrollWidth'), on).toBe(320);
  }
});

test('a message names the field of the form, offers what helps, and goes with the key that mends it', async ({
  page,
  records,
  signIn,
  watch,
}) => {
  const pola = await records.person('pola');
  await records.group('taken readers');
  await signIn('admin');
  watch.provokes(400, 409);
  const alert = page.getByRole('alert');
  await page.goto(`/grants/new?principal=user:${pola}&catalog=ms_sales&privilege=SELECT`);
  const description = page.getByRole('textbox', { name: 'Description' });
  await description.fill('x'.repeat(1001));
  await expect(alert).toContainText('Description: must');
  await expect(description).toHaveAttribute('aria-invalid', 'true');
  await expect(alert.getByRole('button', { name: 'Retry' })).toBeHidden();
  await description.fill('short');
  await expect(alert).toBeHidden();
  await expect(description).not.toHaveAttribute('aria-invalid');

  await page.goto('/groups');
  await page.getByRole('button', { name: 'New group' }).click();
  const name = page.getByRole('textbox', { name: 'Name' });
  await name.fill('taken readers');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(alert).toBeVisible();
  await name.fill('other readers');
  await expect(alert).toBeHidden();
});

test('the audit trail is searched whole, followed by request, saved, and leads to a grant', async ({
  page,
  records,
  signIn,
}) => {
  const audited = await records.person('audited');
  const grant = await records.grant({ type: 'user', id: audited }, 'trail_sales.eu');
  await signIn('admin');
  await page.goto('/audit');
  await page.getByRole('textbox', { name: 'Search' }).fill('trail_sales');
  const rows = page.getByRole('table', { name: 'Audit' }).getByRole('row');
  await expect(rows).toHaveCount(2);
  await expect(rows.nth(1)).toContainText(new RegExp(`grant ${grant}: SELECT on trail_sales.eu to audited, from `));
  await expect(rows.nth(1)).toContainText(/today \d\d:\d\d:\d\d/);
  await expect(rows.nth(1).getByRole('link', { name: 'audited' })).toHaveAttribute('href', `/people/${audited}`);
  await rows.nth(1).getByRole('cell').last().getByRole('link').click();
  await expect(page).toHaveURL(/\/audit\?request_id=[\w-]+$/);
  await expect(rows).toHaveCount(2);

  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  const file = await readFile(await (await saved).path(), 'utf8');
  expect(file.split('\r\n')).toEqual([
    expect.stringMatching(/^id,at,/),
    expect.stringContaining(',grant_created,'),
    '',
  ]);

  await rows
    .nth(1)
    .getByRole('link', { name: `grant ${grant}` })
    .click();
  await expect(page.getByRole('table', { name: 'Grants' }).getByRole('row', { name: /audited/ })).toBeVisible();
});

test('spaces around a pasted name are no part of it', async ({ page, records, admin, signIn }) => {
  const id = await records.person('ps_pat');
  await signIn('admin');
  await page.goto(`/grants/new?principal=user:${id}&privilege=SELECT`);
  const catalog = page.getByRole('combobox', { name: 'Catalog' });
  await catalog.fill(' ps_sales ');
  await page.keyboard.press('Tab');
  await expect(catalog).toHaveValue('ps_sales');
  const schema = page.getByRole('combobox', { name: 'Schema' });
  await schema.fill('eu ');
  await expect(page.getByRole('button', { name: 'Grant to 1 person' })).toBeEnabled();
  await schema.press('Enter');
  await expect(schema).toHaveValue('eu');
  await page.getByRole('button', { name: 'Grant to 1 person' }).click();
  await expect(page).toHaveURL(/\/grants$/);
  const { body } = await admin.get(`/api/admin/grants?principal=user:${id}`);
  expect(body?.['items']).toEqual([expect.objectContaining({ resource: { catalog: 'ps_sales', schema: 'eu' } })]);
});

test('a draft that is too long for its address asks before it is left', async ({ page, records, signIn }) => {
  const id = await records.person('tl_tom');
  await signIn('admin');
  await page.goto(`/grants/new?principal=user:${id}&privilege=SELECT&catalog=tl_sales`);
  const description = page.getByRole('textbox', { name: 'Description' });
  await description.fill('why it is given '.repeat(60));
  const asked = page.waitForEvent('dialog').then((dialog) => dialog.dismiss());
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Groups' }).click();
  await asked;
  await expect(description).toHaveValue('why it is given '.repeat(60));
});
