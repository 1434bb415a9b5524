import type { Page } from '@playwright/test';
import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

/** Heights of the rows of the one table, in pixels. */
const HEIGHTS = `[...document.querySelectorAll('main table tbody tr')].map((row) => row.offsetHeight)`;

async function addFilter(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add filter' }).click();
  const panel = page.getByRole('group', { name: 'Filters' });
  await expect(panel.getByRole('combobox')).toHaveCount(0);
  await panel.getByRole('button', { name, exact: true }).click();
  await expect(panel.getByRole('combobox')).toHaveCount(1);
  await expect(panel.getByRole('combobox')).toBeFocused();
}

test('rows are sorted by a column, whose head says it, also at its copied address', async ({
  page,
  records,
  signIn,
}) => {
  const [zoe, abe] = [await records.person('so_zoe'), await records.person('so_abe')];
  await records.grant({ type: 'user', id: zoe }, 'so_sales.eu', ['SELECT'], '2098-01-01T00:00:00Z');
  await records.grant({ type: 'user', id: abe }, 'so_sales.us');
  await records.grant({ type: 'engine', name: 'so_mill' }, 'so_sales', ['SELECT'], '2097-01-01T00:00:00Z');
  await signIn('admin');
  await page.goto('/grants?q=so_sales');
  const holders = page.getByRole('table', { name: 'Grants' }).locator('tbody .principal > span:nth-child(2)');
  await page.getByRole('button', { name: 'Holder', exact: true }).click();
  await expect(holders).toHaveText(['so_abe', 'so_mill', 'so_zoe']);
  await expect(page.getByRole('columnheader', { name: 'Holder' })).toHaveAttribute('aria-sort', 'ascending');
  await page.getByRole('button', { name: 'Holder', exact: true }).click();
  await expect(holders).toHaveText(['so_zoe', 'so_mill', 'so_abe']);
  await page.getByRole('button', { name: 'Until', exact: true }).click();
  await expect(holders).toHaveText(['so_mill', 'so_zoe', 'so_abe']);
  await expectAccessible(page);
  await page.reload();
  await expect(holders).toHaveText(['so_mill', 'so_zoe', 'so_abe']);
  await expect(page).toHaveURL(/[?&]sort=Until/);

  await page.goto('/people?q=so_&sort=-Person');
  await expect(page.getByRole('table', { name: 'People' }).getByRole('link')).toHaveText([/so_zoe/, /so_abe/]);
});

test('a row is one line at 1280 pixels', async ({ page, records, admin, signIn }) => {
  const person = await records.person('ol_phoebe_of_the_long_names');
  const group = await records.group('ol-analysts-of-europe', person);
  const others = [await records.group('ol-first', person), await records.group('ol-second', person)];
  const resource = { catalog: 'ol_sales', schema: 'eu_central_of_all', table: 'orders_of_every_customer' };
  await admin.post('/api/admin/grants', {
    principal: { type: 'group', id: group },
    ...{ resource, privileges: ['SELECT'], expires_at: '2098-01-01T00:00:00Z' },
    description: 'The yearly report of the finance department, agreed with the owner of the data.',
  });
  await admin.post('/api/admin/policies', {
    ...{ kind: 'row_filter', principal: { type: 'group', id: group }, resource },
    expression: "country IN ('DE', 'FR', 'IT', 'ES', 'PL', 'NL', 'BE', 'AT')",
    except: others.map((id) => ({ type: 'group', id })),
  });
  await admin.post('/api/admin/acl/sync');
  await signIn('admin');
  const paths = ['/grants?q=ol_', '/policies?q=ol_', '/people?q=ol_', '/groups?q=ol-', '/audit?q=ol_', '/publications'];
  for (const path of paths) {
    await page.goto(path);
    await expect(page.locator('main tbody a').first()).toBeVisible();
    const heights = await page.evaluate<number[]>(HEIGHTS);
    expect(Math.max(...heights), path).toBeLessThanOrEqual(38);
    expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(1280);
  }
});

test('filters are added one at a time, with suggestions and dates as text', async ({ page, records, signIn }) => {
  const person = await records.person('fi_person');
  await records.grant({ type: 'user', id: person }, 'fi_sales.eu.orders', ['SELECT'], '2098-01-01T00:00:00Z');
  await records.grant({ type: 'user', id: person }, 'fi_sales.us.orders');
  await signIn('admin');
  await page.goto('/grants');
  const rows = page.getByRole('table', { name: 'Grants' }).getByRole('row');
  await addFilter(page, 'Catalog');
  await page.getByRole('combobox', { name: 'Catalog' }).fill('fi_');
  await expectAccessible(page);
  await page.getByRole('option', { name: 'fi_sales' }).click();
  await expect(rows).toHaveCount(3);
  await addFilter(page, 'Schema');
  await page.getByRole('combobox', { name: 'Schema' }).fill('u');
  await page.getByRole('option', { name: 'us' }).click();
  await expect(rows).toHaveCount(2);
  await page.getByRole('button', { name: 'Remove Schema us' }).click();

  await addFilter(page, 'Ends before');
  await page.getByRole('combobox', { name: 'Ends before' }).fill('31.02.2099');
  await page.getByRole('button', { name: 'Apply Ends before' }).click();
  await expect(page.getByRole('group', { name: 'Filters' })).toContainText(/Write it like \d{4}-\d{2}-\d{2}/);
  await page.getByRole('combobox', { name: 'Ends before' }).fill('2099-02-28');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Remove Ends before 28 Feb 2099' })).toBeVisible();
  await expect(rows).toHaveCount(2);

  await page.goto('/audit');
  await addFilter(page, 'Person');
  await page.getByRole('combobox', { name: 'Person' }).fill('fi_pers');
  await page.getByRole('option', { name: 'fi_person' }).click();
  await expect(page.getByRole('button', { name: 'Remove Person fi_person' })).toBeVisible();
  await addFilter(page, 'From');
  await page.getByRole('option', { name: /today/ }).click();
  await expect(page.getByRole('button', { name: /^Remove From today 00:00/ })).toBeVisible();
  await expect(page.getByRole('table', { name: 'Audit' }).getByRole('row')).toHaveCount(2);
});

test('where a search finds no grant, it says what the person reaches through groups', async ({
  page,
  records,
  signIn,
}) => {
  const priya = await records.person('tg_priya');
  const group = await records.group('tg-readers', priya);
  await records.grant({ type: 'group', id: group }, 'tg_sales.eu');
  await records.grant({ type: 'group', id: group }, 'tg_lake');
  await signIn('admin');
  for (const path of ['/grants?q=tg_pri', `/grants?principal=user:${priya}`]) {
    await page.goto(path);
    await expect(page.getByText('tg_priya reaches 2 nodes through groups.')).toBeVisible();
  }
  await expectAccessible(page);
  await page.getByRole('main').getByRole('link', { name: 'tg_priya' }).click();
  await expect(page.getByRole('heading', { level: 1, name: /tg_priya/ })).toBeVisible();
});

/** How far each row's first cell stands from its row's left edge, in pixels. */
const OFFSETS = `[...document.querySelectorAll('main tbody tr')].map((row) =>
  row.querySelector('td > :first-child').getBoundingClientRect().left - row.getBoundingClientRect().left)`;

test('on phones rows begin at the left, and acts stand below their form', async ({ page, records, admin, signIn }) => {
  const person = await records.person('na_person');
  const group = await records.group('na-readers', person);
  const grantee = { type: 'group', id: group } as const;
  await records.grant(grantee, 'na_sales.eu');
  const policy = await admin.post('/api/admin/policies', {
    ...{ kind: 'row_filter', principal: grantee, resource: { catalog: 'na_sales', schema: 'eu', table: 'orders' } },
    expression: 'true',
  });
  await signIn('admin');
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 844 });
    for (const path of [`/groups/${group}`, `/people/${person}`, '/grants?q=na-', '/policies?q=na-', '/groups?q=na-']) {
      await page.goto(path);
      await expect(page.locator('main tbody td').first()).toBeVisible();
      await expect(page.locator('main .skeleton')).toHaveCount(0);
      expect(Math.max(...(await page.evaluate<number[]>(OFFSETS))), path).toBeLessThan(12);
    }
    for (const [path, act, last] of [
      [`/groups/${group}`, 'Delete…', 'Discard'],
      [`/policies/${String(policy.body?.['id'])}`, 'Save', null],
    ] as const) {
      await page.goto(path);
      const above =
        last === null
          ? page.getByRole('textbox', { name: 'Expression' })
          : page.getByRole('button', { name: last, exact: true });
      await expect(async () => {
        const [upper, lower] = [
          await above.boundingBox(),
          await page.getByRole('button', { name: act, exact: true }).boundingBox(),
        ];
        expect(lower?.y, path).toBeGreaterThan(upper?.y ?? Infinity);
      }).toPass();
    }
    await expectAccessible(page);
  }
});
