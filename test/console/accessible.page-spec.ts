import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

/** What makes a page scroll sideways. */
const TOO_WIDE = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('main, main *')]
  .filter((element) => element.getBoundingClientRect().right > innerWidth).map(({ outerHTML }) => outerHTML.slice(0, 120))`;

test('lists, filters and absent pages are accessible', async ({ page, records, admin, signIn, watch }) => {
  const group = await records.group('ax-readers', await records.person('axel'));
  await records.grant({ type: 'group', id: group }, 'ax_sales.eu');
  await admin.post('/api/admin/acl/sync');
  await signIn('admin');
  await page.goto('/groups');
  await expect(page.getByRole('table', { name: 'Groups' }).getByRole('row', { name: /ax-readers/ })).toBeVisible();
  await expectAccessible(page);
  await page.goto('/grants');
  await page.getByRole('button', { name: 'Add filter' }).click();
  const filters = page.getByRole('group', { name: 'Filters' });
  await expectAccessible(page);
  await filters.getByRole('button', { name: 'Holder' }).click();
  await filters.getByRole('combobox', { name: 'Person or group' }).fill('ax');
  await expect(page.getByRole('option', { name: 'ax-readers' })).toBeVisible();
  await expectAccessible(page);
  watch.provokes(404);
  await page.goto('/people/2000000000');
  await expect(page.getByRole('heading', { level: 1, name: 'There is no such page' })).toBeVisible();
  await expectAccessible(page);
});

test('a phone shows every page and its menus, accessible and without scrolling sideways', async ({
  page,
  records,
  signIn,
  watch,
}) => {
  test.slow(); // axe, 32 times
  const person = await records.person('phoebe_of_the_long_names_in_two_columns');
  const group = await records.group('phones-of-the-eu-analysts-in-a-long-line', person);
  const grant = { type: 'group', id: group } as const;
  await records.grant(grant, 'ph_sales.eu_central_of_all_regions.orders_of_every_customer', [
    'SELECT',
    'INSERT',
    'DELETE',
  ]);
  await page.setViewportSize({ width: 320, height: 640 });
  await signIn('admin');
  const address = 'catalog=ph_sales&schema=eu_central_of_all_regions&table=orders_of_every_customer';
  for (const path of [
    ...[
      '/me',
      '/sql',
      '/data',
      '/data/ph_sales/eu_central_of_all_regions/orders_of_every_customer',
      '/people?q=phoebe',
    ],
    ...[`/people/${person}`, '/groups?q=phones', `/groups/${group}`, '/grants?q=ph_sales', '/engine', '/policies'],
    ...[`/grants/new?principal=group:${group}&${address}&privilege=SELECT`, '/policies/new', '/publications', '/audit'],
    `/why?principal=user:${person}&privilege=SELECT&${address}`,
  ]) {
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await watch.settled();
    await expect(page.getByText(/^(Reading|Computing)/)).toHaveCount(0);
    expect(await page.evaluate(TOO_WIDE), path).toEqual([]);
    await expectAccessible(page);
  }
  await page.goto('/data/ph_sales');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.getByRole('button', { name: 'Menu' }).click();
  await expectAccessible(page);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Browse' }).click();
  await expect(page.getByRole('navigation', { name: 'Data tree' })).toBeVisible();
  await expectAccessible(page);
});
