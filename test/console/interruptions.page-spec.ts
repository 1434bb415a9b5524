import { expectAccessible } from './running/accessibility.js';
import { expect, openSession, passwordOf, test } from './running/console-test.js';

test('a page whose script does not arrive says so, and the others go on', async ({ page, records, signIn, watch }) => {
  await records.person('kai');
  await signIn('admin');
  await page.goto('/people');
  watch.provokes('net::ERR_CONNECTION_REFUSED');
  await page.route('**/assets/audit-*.js', (route) => route.abort('connectionrefused'));
  const main = page.getByRole('navigation', { name: 'Main' });
  await main.getByRole('link', { name: 'Audit' }).click();
  const alert = page.getByRole('alert');
  await expect(alert.getByRole('button', { name: 'Retry' })).toBeVisible();
  await expectAccessible(page);
  await main.getByRole('link', { name: 'Groups' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Groups' })).toBeVisible();

  await main.getByRole('link', { name: 'Audit' }).click();
  await page.unroute('**/assets/audit-*.js');
  await alert.getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByRole('table', { name: 'Audit' })).toBeVisible();
});

test('the tree says that the service does not answer, and is read again', async ({ page, records, signIn, watch }) => {
  const group = await records.group('readers-of-a-tree-that-breaks');
  await records.grant({ type: 'group', id: group }, 'it_sales.eu');
  await signIn('admin');
  watch.provokes('net::ERR_CONNECTION_REFUSED');
  await page.route('**/api/admin/catalog?**under=it_sales**', (route) => route.abort('connectionrefused'));
  await page.goto('/data/it_sales');
  const tree = page.getByRole('navigation', { name: 'Data tree' });
  await expect(tree.getByRole('alert')).toContainText('The service does not answer.');
  await expect(tree.getByRole('link', { name: /^it_sales/ })).toBeVisible();
  await expect(tree.locator('.skeleton')).toHaveCount(0);
  await page.unroute('**/api/admin/catalog?**under=it_sales**');
  await tree.getByRole('button', { name: 'Retry' }).click();
  await expect(tree.getByRole('link', { name: /^eu/ })).toBeVisible();
  await page.getByRole('textbox', { name: 'Search' }).fill('nothing_such');
  await expect(tree.getByText('No schemas match.')).toBeVisible();
});

test('a session that was ended or replaced in another tab is noticed on coming back, over any dialog', async ({
  page,
  context,
  grantline,
  records,
  signIn,
}) => {
  await records.administrator('ivy');
  await records.grant({ type: 'user', id: await records.person('jun') }, 'it_lake');
  await signIn('ivy');
  await page.goto('/grants?q=it_lake');
  await page.getByRole('button', { name: 'Revoke' }).click();
  const revoke = page.getByRole('dialog', { name: /^Revoke grant \d+\?$/ });
  await expect(revoke.getByRole('region', { name: 'Who loses' })).toContainText('jun');

  await openSession(context, grantline.url, 'admin');
  await page.evaluate(`window.dispatchEvent(new Event('focus'))`);
  const again = page.getByRole('dialog', { name: 'Sign in again' });
  await expect(again.getByRole('textbox', { name: 'Username' })).toHaveValue('ivy');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await expectAccessible(page);
  await again.getByRole('textbox', { name: 'Password' }).fill(passwordOf('ivy'));
  await again.getByRole('button', { name: 'Sign in' }).click();
  await expect(again).toBeHidden();
  await revoke.getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByRole('heading', { name: 'No grant matches' })).toBeVisible();
});

test('what is refused for a while, or was done by somebody else, is explained', async ({
  page,
  records,
  admin,
  signIn,
  watch,
}) => {
  const lou = await records.person('lou');
  const grant = await records.grant({ type: 'user', id: lou }, 'it_sea');
  await signIn('admin');
  await page.goto('/grants?q=it_sea');
  await page.getByRole('button', { name: 'Revoke' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('region', { name: 'Who loses' })).toContainText('lou');

  watch.provokes(429);
  const problem = { code: 'too_many_requests', status: 429, detail: 'Too many requests', request_id: 'r-2' };
  await page.route(`**/api/admin/grants/${grant}`, (route) =>
    route.fulfill({ status: 429, headers: { 'Retry-After': '60' }, json: problem }),
  );
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await expect(dialog.getByRole('alert')).toContainText(/Try again at \d\d:\d\d/);
  await expectAccessible(page);
  await page.unroute(`**/api/admin/grants/${grant}`);
  await admin.send('DELETE', `/api/admin/grants/${grant}`);
  await dialog.getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByRole('heading', { name: 'No grant matches' })).toBeVisible();
});

/** A group of a faked list. */
const fakeGroup = (id: number) => ({
  ...{ id, name: `many-${id}`, description: null, source: 'local', external_id: null, member_count: 0 },
  created_at: '2026-01-01T00:00:00.000Z',
});

test('rows that cannot be read are asked for once, and again by Retry', async ({ page, records, signIn, watch }) => {
  await records.administrator('rows_reader');
  await signIn('rows_reader');
  let isBroken = true;
  let refusals = 0;
  await page.route('**/api/admin/groups?**', (route) => {
    const isFirst = !route.request().url().includes('after=');
    if (isFirst) {
      const items = Array.from({ length: 60 }, (_, index) => fakeGroup(index + 1));
      return route.fulfill({ json: { items, next: '60' } });
    }
    if (!isBroken) return route.fulfill({ json: { items: [fakeGroup(61)], next: null } });
    refusals += 1;
    return route.fulfill({
      status: 500,
      json: { code: 'internal_error', status: 500, detail: 'No', request_id: 'r-5' },
    });
  });
  watch.provokes(500);
  await page.goto('/groups');
  const alert = page.getByRole('alert');
  await expect(async () => {
    await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
    await expect(alert).toContainText('r-5', { timeout: 500 });
  }).toPass();
  await watch.settled();
  expect(refusals).toBe(1);
  isBroken = false;
  await alert.getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByRole('status')).toHaveText('61 groups');
});

test('without a network a page says that the service does not answer, and reads again once there is one', async ({
  page,
  context,
  records,
  signIn,
  watch,
}) => {
  await records.administrator('offline_reader');
  await signIn('offline_reader');
  await page.goto('/groups');
  await expect(page.getByRole('status')).toHaveText(/groups?$/);
  watch.provokes('net::ERR_INTERNET_DISCONNECTED');
  await context.setOffline(true);
  await page.getByRole('textbox', { name: 'Search' }).fill('no-such-group');
  await expect(page.getByRole('alert')).toContainText('The service does not answer.');
  await context.setOffline(false);
  await expect(page.getByRole('heading', { name: 'No group matches' })).toBeVisible();
});

const SCROLLED = `new Promise((scrolled) =>
  addEventListener('wheel', () => requestAnimationFrame(() => requestAnimationFrame(scrolled)), { once: true }))`;

test('the page under a dialog stays where it is, and so does the dialog', async ({
  page,
  grantline,
  records,
  signIn,
}) => {
  const id = await records.person('wheeler');
  const database = await grantline.database();
  await database.query(
    `INSERT INTO grants (user_id, catalog_name, schema_name, privileges, granted_at)
       SELECT ${id}, 'it_wheel', 's' || i, '{SELECT}', now() FROM generate_series(1, 120) AS i`,
  );
  await database.end();
  await signIn('admin');
  await page.goto('/grants?q=wheeler');
  await page.getByRole('button', { name: 'Revoke' }).first().click();
  const dialog = page.getByRole('dialog', { name: /^Revoke grant \d+\?$/ });
  await expect(dialog.getByRole('region', { name: 'Who loses' })).toContainText('wheeler');
  await page.mouse.move(100, 600);
  await Promise.all([page.evaluate(SCROLLED), page.mouse.wheel(0, 3000)]);
  expect(await page.evaluate('scrollY')).toBe(0);
  await expect(dialog).toBeVisible();
});

test('renaming a group leaves the description that somebody else has written meanwhile', async ({
  page,
  records,
  admin,
  signIn,
}) => {
  const id = await records.group('rn-before');
  await signIn('admin');
  await page.goto(`/groups/${id}`);
  await page.getByRole('button', { name: 'Rename' }).click();
  await admin.patch(`/api/admin/groups/${id}`, { description: 'Reads what Europe sells.' });
  const form = page.getByRole('form', { name: 'Rename the group' });
  await form.getByRole('textbox', { name: 'Name' }).fill('rn-after');
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'rn-after' })).toBeVisible();
  await expect(page.getByRole('main')).toContainText('Reads what Europe sells.');
  await page.getByRole('button', { name: 'Rename' }).click();
  await form.getByRole('button', { name: 'Save' }).click();
  await expect(form).toHaveCount(0);
});
