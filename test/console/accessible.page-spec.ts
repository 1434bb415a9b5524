import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

/** What makes a page scroll sideways. */
const TOO_WIDE = `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('main, main *')]
  .filter((element) => element.getBoundingClientRect().right > innerWidth).map(({ outerHTML }) => outerHTML.slice(0, 120))`;

/** Words of descriptions that stand on two lines. */
const BROKEN_WORDS = `[...document.querySelectorAll('.prose')].flatMap(({ firstChild: text }) =>
  [...(text?.data ?? '').matchAll(/\\S+/g)].filter(({ 0: word, index }) => {
    const range = new Range();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
  }).map(([word]) => word))`;

/** Of each row: where its name and its number of members begin, and whether they stand on one line. */
const PLACES = `[...document.querySelectorAll('tbody tr')].map((row) => {
  const [name, members] = ['.holder', '[data-label="Members"]'].map((each) => row.querySelector(each).getBoundingClientRect());
  return [name.left, members.left, Math.abs(name.top - members.top) < 8];
})`;

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
  test.slow(); // axe, 36 times
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
    ...['/guarantees', '/guarantees/new?kind=apart'],
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

test('rows of groups on a phone are alike, fields keep their arrows, and words stay whole', async ({
  page,
  records,
  admin,
  signIn,
}) => {
  const description =
    'Everybody who answers for the ledger of a subsidiary, its reconciliations and its correspondence.';
  await records.group('rl-plain');
  const { body } = await admin.post('/api/admin/groups', { name: 'rl-described', description });
  const id = Number(body?.['id']);
  await admin.post('/api/admin/grants', {
    ...{
      principal: { type: 'group', id },
      resource: { catalog: 'rl_sales' },
      privileges: ['SELECT', 'INSERT'],
      description,
    },
  });
  await signIn('admin');
  for (const path of ['/groups?q=rl-', `/groups/${id}`, '/grants?q=rl_sales']) {
    await page.goto(path);
    await expect(page.getByText('Everybody who answers').filter({ visible: true }).first()).toBeVisible();
    expect(await page.evaluate(BROKEN_WORDS), path).toEqual([]);
  }

  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto('/groups?q=rl-');
  await expect(page.getByRole('row')).toHaveCount(3);
  const [plain, described] = await page.evaluate<unknown[]>(PLACES);
  expect(plain).toEqual([expect.any(Number), expect.any(Number), true]);
  expect(described).toEqual(plain);
  for (const path of ['/why', '/grants/new', '/policies/new']) {
    await page.goto(path);
    const fields = page.getByRole('main').getByRole('combobox');
    await expect(fields.first()).toBeVisible();
    await expect(page.locator('.combo > .icon').filter({ visible: true })).toHaveCount(await fields.count());
  }
});

test('an unchecked box looks as it is in the dark: open, or closed', async ({ page, admin, signIn }) => {
  expect((await admin.get('/api/auth/me')).status).toBe(200);
  await signIn('admin');
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.goto('/grants/new?principal=everyone&on=engine');
  await expect(page.getByRole('group', { name: 'Privileges' })).toBeVisible();
  const borders = (selector: string): Promise<string[]> =>
    page.evaluate(`[...new Set([...document.querySelectorAll('input[type=checkbox]${selector}')]
      .map((box) => getComputedStyle(box).borderTopColor))]`);
  expect(await borders(':enabled:not(:checked)')).toEqual(['rgb(108, 108, 124)']); // --line-strong, contrast above 3
  expect(await borders(':disabled')).toEqual(['rgb(39, 39, 48)']); // --line
});
