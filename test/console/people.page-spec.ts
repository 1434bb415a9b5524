import { mkdirSync, writeFileSync } from 'node:fs';
import { expectAccessible } from './running/accessibility.js';
import { expect, passwordOf, test } from './running/console-test.js';
import { PAGE_PATHS } from '../../src/console/domain/page-paths.js';
import { insertPeople } from './running/many-rows.js';

test('10,000 people are listed and searched, and few of them are in the page', async ({
  page,
  grantline,
  admin,
  signIn,
}) => {
  const database = await grantline.database();
  await insertPeople(database);
  await database.end();
  const { body } = await admin.get('/api/admin/users?limit=1');
  await signIn('admin');

  await page.goto('/people');
  const table = page.getByRole('table', { name: 'People' });
  await expect(table).toHaveAttribute('aria-rowcount', String(Number(body?.['total']) + 1));
  expect(await table.getByRole('row').count()).toBeLessThanOrEqual(60);
  await expectAccessible(page);

  await page.keyboard.press('/');
  await page.keyboard.type('crowd_0999');
  await expect(table).toHaveAttribute('aria-rowcount', '11');
  await expect(page).toHaveURL(/\?q=crowd_0999$/);
  await page.getByRole('button', { name: 'Add filter' }).click();
  await page.getByRole('group', { name: 'Filters' }).getByRole('button', { name: 'State' }).click();
  await page.getByRole('option', { name: 'deactivated' }).click();
  await expect(page.getByRole('heading', { name: 'Nobody matches' })).toBeVisible();
  await page.reload();
  await page.getByRole('button', { name: 'Remove State deactivated' }).click();
  await expect(table.getByRole('link', { name: 'crowd_09990 (person)' })).toBeVisible();

  await page.goto('/grants/new');
  await page.getByRole('combobox', { name: 'Person or group' }).fill('crowd');
  await expect(page.getByRole('option', { name: 'crowd_00020' })).toBeVisible();
  await expect(page.getByText('More match: 9,980 people. Type more of the name.')).toBeVisible();
  await expectAccessible(page);
});

test('somebody is added with a one-time password, made administrator with the own one, and deactivated', async ({
  page,
  signIn,
  admin,
}) => {
  expect((await admin.get('/api/auth/me')).status).toBe(200);
  await signIn('admin');
  await page.goto('/people');
  await page.getByRole('button', { name: 'Add person' }).click();
  await page.getByRole('textbox', { name: 'Username' }).fill('added_here');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('group', { name: 'One-time password of added_here' })).not.toBeEmpty();

  await page.getByRole('textbox', { name: 'Search' }).fill('added_here');
  await page.getByRole('link', { name: 'added_here (person)' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /added_here/ })).toBeVisible();
  await expect(page.getByRole('heading', { name: 'added_here reaches nothing' })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Make administrator…' }).click();
  const promotion = page.getByRole('dialog', { name: 'Make added_here administrator?' });
  await promotion.getByLabel('Your password, to confirm').fill(passwordOf('admin'));
  await promotion.getByRole('button', { name: 'Make administrator' }).click();
  await expect(page.getByRole('button', { name: 'Make user…' })).toBeVisible();

  await page.getByRole('button', { name: 'Deactivate…' }).click();
  await expect(page.getByRole('dialog')).toContainText('owns then stop for everybody who reads them');
  await page.getByRole('dialog').getByRole('button', { name: 'Deactivate' }).click();
  await expect(page.getByRole('button', { name: 'Activate…' })).toBeVisible();
});

test('a former name is freed, and what follows is said before', async ({ page, signIn, admin }) => {
  const { body } = await admin.post('/api/admin/users', { username: 'jsmith' });
  const id = String(body?.['id']);
  await admin.patch(`/api/admin/users/${id}`, { username: 'jdoe' });
  await signIn('admin');
  await page.goto(`/people/${id}`);
  await page.getByRole('button', { name: 'Free jsmith…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Free the name jsmith?' });
  await expect(dialog.getByText('views that jsmith owns run with the access of that holder')).toBeVisible();
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Free jsmith' }).click();
  await expect(page.getByRole('button', { name: 'Free jsmith…' })).toBeHidden();
  expect((await admin.post('/api/admin/users', { username: 'jsmith' })).status).toBe(201);
});

test('a change of members shows what it gives before it is saved', async ({ page, records, signIn }) => {
  const [inside] = [await records.person('inside'), await records.person('outside')];
  const group = await records.group('readers-of-orders', inside);
  await records.grant({ type: 'group', id: group }, 'sales.eu.orders');
  await signIn('admin');

  await page.goto(`/groups/${group}`);
  await page.getByRole('combobox', { name: 'Person or group' }).fill('outsid');
  await page.getByRole('option', { name: 'outside', exact: true }).click();
  await page.getByRole('button', { name: 'Remove inside' }).click();
  await expect(page.getByRole('region', { name: 'Who gains' })).toContainText('outside');
  await expect(page.getByRole('region', { name: 'Who loses' })).toContainText('inside');
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('button', { name: 'Remove outside' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Remove inside' })).toBeHidden();
  await expect(page.getByRole('status').getByRole('link', { name: 'publication' })).toBeVisible();

  await page.getByRole('button', { name: 'Rename' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('order-readers');
  await page.getByRole('textbox', { name: 'Description' }).fill('<script>alert(1)</script>');
  await page.getByRole('form', { name: 'Rename the group' }).getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'order-readers' })).toBeVisible();
  await expect(page.getByText('<script>alert(1)</script> Managed here.')).toBeVisible();

  await page.goto('/people?q=outside');
  await expect(page.getByRole('table', { name: 'People' }).getByRole('row', { name: /outside/ })).toContainText(
    'order-readers',
  );
  await page.getByRole('link', { name: 'outside (person)' }).click();
  await expect(page.getByRole('table', { name: 'Effective access' })).toContainText('through group order-readers');
});

test('who is added while members are being saved stays in the draft', async ({ page, records, signIn }) => {
  await records.person('sv_first');
  await records.person('sv_second');
  const group = await records.group('sv-readers');
  await signIn('admin');
  await page.goto(`/groups/${group}`);
  const add = async (name: string): Promise<void> => {
    await page.getByRole('combobox', { name: 'Person or group' }).fill(name);
    await page.getByRole('option', { name, exact: true }).click();
  };
  let release = (): void => undefined;
  await page.route(`**/api/admin/groups/${group}/members/*`, async (route) => {
    await new Promise<void>((resolve) => (release = resolve));
    await route.continue();
  });
  await add('sv_first');
  const sent = page.waitForRequest((request) => request.method() === 'PUT');
  await page.getByRole('button', { name: 'Save' }).click();
  await sent;
  await add('sv_second');
  release();

  await expect(page.getByRole('button', { name: 'Remove sv_first' })).toBeVisible();
  await expect(page.getByRole('row', { name: /sv_second/ })).toContainText('joins');
});

test('the page of a group has its filters and masks; after its first member comes its first grant', async ({
  page,
  records,
  admin,
  signIn,
}) => {
  await records.person('na_first');
  const group = await records.group('nb-readers');
  const resource = { catalog: 'na_sales', schema: 'eu', table: 'orders' };
  for (const part of [
    { kind: 'row_filter', resource, expression: "region = 'EU'" },
    { kind: 'column_mask', resource: { ...resource, column: 'email' }, expression: "'***'" },
  ])
    await admin.post('/api/admin/policies', { principal: { type: 'group', id: group }, ...part });
  await signIn('admin');
  await page.goto(`/groups/${group}`);
  await expect(page.getByRole('table', { name: 'Policies' }).getByRole('row')).toHaveText([
    'PolicyWhereTakes',
    /^Row filter \d+na_sales\.eu\.ordersregion = 'EU'$/,
    /^Column mask \d+email in na_sales\.eu\.orders'\*\*\*'$/,
  ]);

  const field = page.getByRole('combobox', { name: 'Person or group' });
  await field.fill('na_first');
  await expect(page.getByRole('option', { name: 'na_first' })).toBeVisible();
  await field.blur();
  await expect(page.getByRole('row', { name: /na_first/ })).toContainText('joins');
  await expect(field).toHaveValue('');
  await page.getByRole('button', { name: 'Save' }).click();
  const next = page.getByRole('status').getByRole('link', { name: 'Make its first grant' });
  await expect(next).toBeVisible();
  await expectAccessible(page);
  await next.click();
  await expect(page.getByRole('heading', { level: 1, name: 'New grant' })).toBeVisible();
  await expect(field).toHaveValue('nb-readers');
});

test('the own e-mail and password are changed with the password, and the rule is said before', async ({
  page,
  records,
  admin,
  signIn,
  watch,
}) => {
  const id = await records.person('oa_own');
  await signIn('oa_own');
  await page.goto('/me');
  const account = page.getByRole('region', { name: 'Account' });
  const password = account.getByLabel('Your password, to confirm');
  await account.getByRole('button', { name: 'Change e-mail' }).click();
  await account.getByRole('textbox', { name: 'New e-mail' }).fill('changed@example.org');
  watch.provokes(401);
  await password.fill('a guess');
  await account.getByRole('button', { name: 'Save' }).click();
  await expect(account.getByRole('alert')).toContainText('invalid_credentials');
  await password.fill(passwordOf('oa_own'));
  await expectAccessible(page);
  await account.getByRole('button', { name: 'Save' }).click();
  await expect(account.getByText('changed@example.org')).toBeVisible();
  expect((await admin.get(`/api/admin/users/${id}`)).body?.['email']).toBe('changed@example.org');

  await account.getByRole('button', { name: 'Change password' }).click();
  const next = account.getByLabel('New password');
  await expect(next).toHaveAccessibleDescription('8 to 128 characters, not the current one.');
  await expectAccessible(page);
  await next.fill('a password that is new');
  await password.fill(passwordOf('oa_own'));
  await account.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Your password is changed.')).toBeVisible();
  await expect(next).toBeHidden();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('textbox', { name: 'Username' }).fill('oa_own');
  await page.getByRole('textbox', { name: 'Password' }).fill('a password that is new');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();
});

test('who comes from an import cannot sign in without a provider, and is given a one-time password', async ({
  page,
  grantline,
  admin,
  signIn,
}, testInfo) => {
  const file = testInfo.outputPath('people.txt');
  mkdirSync(testInfo.outputPath(), { recursive: true });
  writeFileSync(file, 'im_ported\n');
  expect((await grantline.command(['users', 'import', file])).code).toBe(0);
  expect((await admin.get('/api/admin/users?source=import')).body?.['total']).toBe(1);
  await signIn('admin');
  await page.goto('/people?q=im_ported');
  const row = page.getByRole('row', { name: /im_ported/ });
  await expect(row).toContainText('cannot sign in yet');
  await expectAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  const name = await row.getByRole('link', { name: 'im_ported (person)' }).boundingBox();
  const state = await row.getByText('active', { exact: true }).boundingBox();
  expect((name?.x ?? 0) + (name?.width ?? 0)).toBeLessThan(state?.x ?? 0);
  await row.getByRole('link', { name: 'One-time password…' }).click();
  const dialog = page.getByRole('dialog', { name: 'One-time password for im_ported?' });
  await page.reload();
  await dialog.getByRole('button', { name: 'One-time password' }).click();
  await expect(page.getByRole('group', { name: 'One-time password of im_ported' })).not.toBeEmpty();
});

test('an API token is shown once and revoked', async ({ page, records, signIn }) => {
  await records.person('with_token');
  await signIn('with_token');
  await page.goto('/me');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('notebook');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('group', { name: 'Token notebook' })).toHaveText(/^glt_/);

  await page.reload();
  const tokens = page.getByRole('table', { name: 'API tokens' });
  await expect(tokens).toContainText('notebook');
  await expect(page.getByRole('group', { name: 'Token notebook' })).toBeHidden();
  await tokens.getByRole('button', { name: 'Revoke notebook' }).click();
  await page.getByRole('dialog', { name: 'Revoke notebook?' }).getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByText('No program acts in your name.')).toBeVisible();
});

test('what opens an account, or takes an administrator, asks for the password some minutes later, and once', async ({
  page,
  grantline,
  records,
  signIn,
  watch,
}) => {
  await records.administrator('rp_admin');
  const other = await records.administrator('rp_other');
  await signIn('rp_admin');
  const password = page.getByRole('textbox', { name: 'Your password, to confirm' });

  await page.goto('/people');
  await page.getByRole('button', { name: 'Add person' }).click();
  await page.getByRole('textbox', { name: 'Username' }).fill('rp_added');
  await expect(password).toBeHidden();
  await grantline.letProofsAge('rp_admin');
  watch.provokes(401, 403);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('alert')).toContainText('Confirm with your password');
  await expectAccessible(page);
  await password.fill('a guess');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('alert')).toContainText('invalid_credentials');
  await password.fill(passwordOf('rp_admin'));
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('group', { name: 'One-time password of rp_added' })).not.toBeEmpty();

  await grantline.letProofsAge('rp_admin');
  await page.goto('/me');
  await page.getByRole('button', { name: 'New token' }).click();
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('rp notebook');
  await password.fill(passwordOf('rp_admin'));
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('group', { name: 'Token rp notebook' })).toHaveText(/^glt_/);

  await grantline.letProofsAge('rp_admin');
  await page.goto(`/people/${other}`);
  await page.getByRole('button', { name: 'One-time password…' }).click();
  const dialog = page.getByRole('dialog', { name: 'One-time password for rp_other?' });
  await dialog.getByLabel('Your password, to confirm').fill(passwordOf('rp_admin'));
  await dialog.getByRole('button', { name: 'One-time password' }).click();
  await expect(page.getByRole('group', { name: 'One-time password of rp_other' })).not.toBeEmpty();
  await page.getByRole('button', { name: 'Make user…' }).click();
  const demotion = page.getByRole('dialog', { name: 'Make rp_other a user?' });
  await expect(demotion).toBeVisible();
  await expect(password).toBeHidden();
  await demotion.getByRole('button', { name: 'Make user' }).click();
  await expect(page.getByRole('button', { name: 'Make administrator…' })).toBeVisible();
});

test('people who are no administrators see neither the links nor the pages of others', async ({
  page,
  records,
  signIn,
  watch,
}) => {
  await records.person('ordinary');
  await signIn('ordinary');
  await page.goto('/me');
  const links = page.getByRole('navigation', { name: 'Main' }).getByRole('listitem').getByRole('link');
  await expect(links).toHaveText(['My access', 'SQL']);
  for (const pattern of PAGE_PATHS.filter((each) => !/^\/$|sign-in|me$|sql$|why$/.test(each))) {
    const path = pattern.replaceAll(/:\w+/g, '1');
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1, name: 'Not for you' })).toBeVisible();
  }
  watch.provokes(404);
  expect((await page.goto('/nowhere/at/all'))?.status()).toBe(404);
  await expect(page.getByRole('heading', { level: 1, name: 'There is no such page' })).toBeVisible();
  await expect(page.getByRole('main').getByRole('link')).toHaveText(['Open what you may reach', 'Ask why']);
  await expectAccessible(page);
  await page.getByRole('link', { name: 'API', exact: true }).click();
  await expect(page).toHaveURL(/\/api\/docs$/);
});

test('a one-time password stands under the name of its person alone', async ({ page, records, signIn }) => {
  const [ona, pim] = [await records.person('ot_ona'), await records.person('ot_pim')];
  await signIn('admin');
  const main = page.getByRole('navigation', { name: 'Main' });
  await page.goto('/people?q=ot_');
  await page.getByRole('link', { name: 'ot_ona' }).click();
  await expect(page).toHaveURL(new RegExp(`/people/${ona}$`));
  await expect(page.getByRole('heading', { level: 1, name: /ot_ona/ })).toBeVisible();
  await main.getByRole('link', { name: 'People' }).click();
  await page.getByRole('textbox', { name: 'Search' }).fill('ot_pim');
  await page.getByRole('link', { name: 'ot_pim' }).click();
  await expect(page).toHaveURL(new RegExp(`/people/${pim}$`));
  await page.getByRole('button', { name: 'One-time password…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'One-time password' }).click();
  await expect(page.getByRole('group', { name: 'One-time password of ot_pim' })).toBeVisible();
  await page.evaluate('history.go(-2)');
  await expect(page.getByRole('heading', { level: 1, name: /ot_ona/ })).toBeVisible();
  await expect(page.getByRole('button', { name: 'One-time password…' })).toBeVisible();
  await expect(page.getByText(/^One-time password of/)).toHaveCount(0);
});

test('the end of an API token is a day, and the field says what is none', async ({ page, records, admin, signIn }) => {
  await records.person('tk_ida');
  await signIn('tk_ida');
  await page.goto('/me?ask=new-token');
  const form = page.getByRole('form', { name: 'New token' });
  await form.getByRole('textbox', { name: 'Name' }).fill('nightly');
  const expires = form.getByRole('textbox', { name: 'Expires' });
  await expires.fill('31.12.2026');
  await expect(expires).toHaveAccessibleDescription(/^31\.12\.2026 is no date\. Write it like \d{4}-02-28\.$/);
  await expect(form.getByRole('button', { name: 'Save' })).toBeDisabled();
  const day = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
  await expires.fill(day);
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('group', { name: 'Token nightly' })).toBeVisible();
  const { body } = await admin.get('/api/admin/audit?event=token_created&limit=1');
  expect(JSON.stringify(body)).toContain(`${day}T23:59:59.999Z`);
});
