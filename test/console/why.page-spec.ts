import { expectAccessible } from './running/accessibility.js';
import { expect, test } from './running/console-test.js';

test('why somebody may, and the line on which they do', async ({ page, records, admin, signIn }) => {
  const ina = await records.person('ina_why');
  const group = await records.group('readers-why', ina);
  const grant = await records.grant({ type: 'group', id: group }, 'why.eu');
  await admin.post('/api/admin/acl/sync');
  await signIn('admin');
  await page.goto(`/why?principal=user:${ina}&privilege=SELECT&catalog=why&schema=eu&table=orders`);

  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    `ina_why may SELECT from why.eu.orders, through group readers-why, by grant ${grant} on why.eu.`,
  );
  const stations = page.getByRole('list', { name: 'How' }).getByRole('listitem');
  await expect(stations).toHaveText([
    /^.*Personina_why/,
    /Groupreaders-why/,
    /GrantGrant \d+/,
    /Nodewhy\.eu/,
    /Ruletables/,
  ]);
  await expect(page.getByRole('region', { name: 'Nearest change' })).toContainText('Deny SELECT');
  await expectAccessible(page);

  const privilege = page.getByRole('combobox', { name: 'Privilege' });
  await privilege.fill('INSERT');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    'ina_why may not INSERT into why.eu.orders: no grant reaches it.',
  );
  await expect(page).toHaveURL(/privilege=INSERT/);
  await expect(page.getByRole('region', { name: 'Nearest change' })).toContainText('Grant INSERT on why.eu.orders');
  await expectAccessible(page);
});

test('people ask why about themselves alone', async ({ page, records, signIn }) => {
  const joe = await records.person('joe_why');
  await records.grant({ type: 'user', id: joe }, 'own.a');
  await signIn('joe_why');
  await page.goto('/why?principal=user:1&privilege=SELECT&catalog=own&schema=b&table=t');
  await expect(page.getByRole('heading', { level: 1 })).toHaveText(
    'You may not SELECT from own.b.t: no grant of yours reaches it.',
  );
  await expect(page.getByRole('combobox', { name: 'Person or group' })).toHaveCount(0);
  await expectAccessible(page);
});
