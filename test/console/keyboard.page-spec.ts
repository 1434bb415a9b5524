import type { Locator, Page } from '@playwright/test';
import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

/** Tabs on until that has the focus. */
async function tabTo(page: Page, target: Locator, back = false): Promise<void> {
  await target.waitFor();
  const focused = target.and(page.locator(':focus'));
  for (let steps = 0; (await focused.count()) === 0; steps += 1) {
    expect(steps, 'presses of Tab').toBeLessThan(60);
    await page.keyboard.press(back ? 'Shift+Tab' : 'Tab');
  }
}

test('a grant is made by keyboard alone', async ({ page, records, admin, signIn }) => {
  const nora = await records.person('nora');
  await signIn('admin');
  await page.goto('/grants');
  const { keyboard } = page;
  await tabTo(page, page.getByRole('link', { name: 'New grant' }));
  await keyboard.press('Enter');

  await tabTo(page, page.getByRole('combobox', { name: 'Person or group' }));
  await keyboard.type('nor');
  await expect(page.getByRole('option', { name: 'nora' })).toBeVisible();
  await keyboard.press('Enter');
  await tabTo(page, page.getByRole('combobox', { name: 'Catalog' }));
  await keyboard.type('kb_sales');
  await tabTo(page, page.getByRole('checkbox', { name: 'SELECT', exact: true }));
  await keyboard.press('Space');
  const button = page.getByRole('button', { name: 'Grant to 1 person' });
  await tabTo(page, button);
  await keyboard.press('Enter');
  await expect(page).toHaveURL(/\/grants$/);
  await expect(page.getByRole('main')).toBeFocused();
  expect((await admin.get(`/api/admin/grants?principal=user:${nora}`)).body?.['items']).toEqual([
    expect.objectContaining({ resource: { catalog: 'kb_sales' }, privileges: ['SELECT'] }),
  ]);
});

test('Enter takes the choice that is marked, also when the list is read again', async ({ page, records, signIn }) => {
  await records.person('cb_kim');
  await records.person('cb_lea');
  await signIn('admin');
  await page.goto('/grants/new');
  const field = page.getByRole('combobox', { name: 'Person or group' });
  const listed = page.waitForResponse((response) => /groups\?.*q=cb$/.test(response.url()));
  await field.fill('cb');
  await listed;
  const options = page.getByRole('option', { name: /cb_/ });
  await expect(options).toHaveText([/cb_kim/, /cb_lea/]);
  await records.group('cb_group');
  let release = (): void => undefined;
  await page.route('**/api/admin/groups?*q=cb_*', async (route) => {
    await new Promise<void>((resolve) => (release = resolve));
    await route.continue();
  });
  const asked = page.waitForRequest((request) => request.url().includes('q=cb_'));
  await field.press('_');
  await field.press('ArrowDown');
  await asked;
  await expect(page.getByRole('option', { selected: true })).toHaveText(/cb_lea/);
  release();
  await expect(options).toHaveText([/cb_group/, /cb_kim/, /cb_lea/, /engine/]);
  await field.press('Enter');

  await expect(field).toHaveValue('cb_lea');
});

test('the focus stays where somebody works, whatever is closed or taken away', async ({ page, records, signIn }) => {
  const group = await records.group('kf-readers', await records.person('kofi'));
  for (const schema of ['a', 'b', 'c']) await records.grant({ type: 'group', id: group }, `kf_sales.${schema}`);
  await signIn('admin');
  await page.goto('/grants?q=kf-readers&state=live');
  const rows = page.getByRole('table', { name: 'Grants' }).getByRole('row');
  const revoke = (row: number): Locator => rows.nth(row).getByRole('button', { name: 'Revoke' });
  await expect(rows).toHaveCount(4);

  await tabTo(page, revoke(2));
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(revoke(2)).toBeFocused();

  const kept = await rows.nth(3).textContent();
  await page.keyboard.press('Enter');
  await tabTo(page, dialog.getByRole('button', { name: 'Revoke' }));
  await page.keyboard.press('Enter');
  await expect(rows).toHaveCount(3);
  await expect(rows.nth(2)).toHaveText(kept ?? '');
  await expect(revoke(2)).toBeFocused();

  await tabTo(page, page.getByRole('button', { name: 'Remove State live' }), true);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Add filter' })).toBeFocused();
});

test('the first field with an error is focused, and each error belongs to its field', async ({
  page,
  records,
  signIn,
  watch,
}) => {
  const tia = await records.person('tia');
  await signIn('admin');
  const principal = page.getByRole('combobox', { name: 'Person or group' });
  const privileges = page.getByRole('group', { name: 'Privileges' });
  const grant = page.getByRole('button', { name: 'Grant', exact: true });
  await page.goto('/grants/new');
  await grant.press('Enter');
  await expect(principal).toBeFocused();
  await expect(principal).toHaveAccessibleDescription('Choose who gets it.');
  await expect(privileges).toHaveAccessibleDescription('Choose at least one.');
  await expectAccessible(page);
  await page.goto(`/grants/new?principal=user:${tia}&on=queries&privilege=SELECT`);
  await expect(principal).toHaveValue('tia');
  await grant.press('Enter');
  const whose = page.getByRole('combobox', { name: 'Whose' });
  await expect(whose).toBeFocused();
  await expect(whose).toHaveAccessibleDescription('Say whose queries.');
  await page.getByRole('radio', { name: 'Engine' }).check({ force: true });
  await grant.press('Enter');
  await expect(privileges.getByRole('checkbox').first()).toBeFocused();

  const save = page.getByRole('button', { name: 'Save' });
  await page.goto('/policies/new?kind=row_filter');
  await save.press('Enter');
  await expect(principal).toBeFocused();
  await expect(principal).toHaveAccessibleDescription('Choose for whom it is.');
  const errors = ['resource', 'except'].map((field) => ({ field: `policies.put.0.${field}`, message: 'must differ' }));
  const json = { code: 'validation_failed', status: 400, detail: 'Refused', errors };
  watch.provokes(400);
  await page.route('**/api/admin/access/preview?*', (route) => route.fulfill({ status: 400, json }));
  await page.goto(`/policies/new?kind=row_filter&principal=user:${tia}&catalog=kb_sales&expression=true`);
  await expect(page.getByRole('group', { name: 'Where' })).toHaveAccessibleDescription('must differ.');
  await expect(page.getByRole('group', { name: 'Except' })).toHaveAccessibleDescription('must differ.');
  await expectAccessible(page);

  await page.goto('/guarantees/new?kind=only&name=kb');
  await save.press('Enter');
  const holders = page.getByRole('group', { name: 'Who may' });
  await expect(holders.getByRole('button', { name: 'Add' })).toBeFocused();
  await expect(holders).toHaveAccessibleDescription('Name at least one.');
});
