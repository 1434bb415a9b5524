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
